/** @module What only Node can do: env files, and files on the local disk. */
export * from "./config.ts";
export * from "./transfer.ts";
