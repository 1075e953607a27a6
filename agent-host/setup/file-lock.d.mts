export function withFileLock<T>(path: string, work: () => Promise<T> | T, onWait?: () => void): Promise<T>;
