/** @module Files and folders on their way in: `.sandbar-<random>.part`, renamed when complete. */
import { randomBytes } from "node:crypto";

export const partName = () => `.sandbar-${randomBytes(8).toString("hex")}.part`;
export const isPart = (name: string) => name.startsWith(".sandbar-") && name.endsWith(".part");
