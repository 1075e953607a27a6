const UNITS = ["B", "KB", "MB", "GB", "TB", "PB"];

/** 1024-based: "0 B", "812 B", "1.4 MB". */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

export function Bytes({ value }: { value: number | null | undefined }) {
  if (value == null) return <span className="text-faint">–</span>;
  return (
    <span className="tabular-nums whitespace-nowrap" title={`${value.toLocaleString()} bytes`}>
      {formatBytes(value)}
    </span>
  );
}
