/** @module Sandbar's refusals in the words of deepagents. */
import type { FileOperationError } from "deepagents";
import { SandbarError } from "../errors.ts";
import { isMissingSession } from "./session-end.ts";

/** Null for what is not about the file: those are thrown. */
export function fileError(error: unknown): FileOperationError | null {
  if (!(error instanceof SandbarError)) return null;
  switch (error.code) {
    case "NOT_FOUND":
      return isMissingSession(error) ? null : "file_not_found";
    case "NOT_A_FILE":
      return "is_directory";
    case "PATH_NOT_PERMITTED":
    case "FORBIDDEN":
      return "permission_denied";
    case "PATH_INVALID":
    case "NOT_A_FOLDER":
      return "invalid_path";
    default:
      return null;
  }
}
