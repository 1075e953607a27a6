/** @module A question that cannot be answered, in the words of the error table. */

export class CallError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

const CODES: Record<string, string> = {
  ENOENT: "NOT_FOUND",
  ENOTDIR: "PATH_INVALID",
  EISDIR: "NOT_A_FILE",
  ENXIO: "NOT_A_FILE",
  ELOOP: "PATH_INVALID",
  ENAMETOOLONG: "PATH_INVALID",
  EINVAL: "PATH_INVALID",
  EXDEV: "PATH_INVALID",
  EACCES: "PATH_NOT_PERMITTED",
  EPERM: "PATH_NOT_PERMITTED",
  ERR_ACCESS_DENIED: "PATH_NOT_PERMITTED",
  EROFS: "PATH_NOT_PERMITTED",
  EBUSY: "PATH_NOT_PERMITTED",
  EEXIST: "PATH_EXISTS",
  ENOTEMPTY: "FOLDER_NOT_EMPTY",
  ENOSPC: "STORAGE_FULL",
  EDQUOT: "STORAGE_FULL",
  EFBIG: "STORAGE_FULL",
};

export function refusal(error: unknown): CallError {
  if (error instanceof CallError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code && CODES[code]) return new CallError(CODES[code], sentence(message));
  if (error instanceof TypeError) return new CallError("VALIDATION_FAILED", `bad parameters: ${message}`);
  return new CallError("HOST_ERROR", String(message ?? error).slice(0, 1000));
}

/** Node's messages end with the call and the path on the host, which is nobody's business. */
function sentence(message: string): string {
  return (/^[A-Z_]+: ([^,]+)/.exec(message)?.[1] ?? "it is not allowed").slice(0, 1000);
}
