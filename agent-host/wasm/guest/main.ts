/** @module Start of a guest: one process per session, which outlives the daemon. */
import { Guest } from "./guest.ts";

// Whoever started it may be gone, and its terminal with it.
process.on("SIGHUP", () => {});
await new Guest(JSON.parse(process.argv[2]!)).run();
