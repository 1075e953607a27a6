export function Logo() {
  return (
    <span className="inline-flex items-center gap-2 font-semibold tracking-tight">
      <svg viewBox="0 0 32 32" className="size-6" aria-hidden="true">
        <rect width="32" height="32" rx="8" fill="var(--accent-solid)" />
        <g fill="none" stroke="#fff" strokeWidth="2.6" strokeLinecap="round">
          <path d="M7 20.5c3 0 3-2 6-2s3 2 6 2 3-2 6-2" />
          <path d="M10 13.5c1.6-2.4 3.6-3.6 6-3.6s4.4 1.2 6 3.6" />
        </g>
      </svg>
      Sandbar
    </span>
  );
}
