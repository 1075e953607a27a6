/** @module Pictures in terminals that show some. */

/** Of one part of kitty's protocol. */
const KITTY_CHARS = 4096;

/** The picture for terminals that show some; null for all others. A terminal inside a terminal shows none. */
export function inlinePicture(bytes: Uint8Array, env: NodeJS.ProcessEnv = process.env): string | null {
  if (env.TMUX || env.STY) return null;
  const data = Buffer.from(bytes).toString("base64");
  if (env.TERM_PROGRAM === "iTerm.app" || env.TERM_PROGRAM === "WezTerm")
    return `\x1b]1337;File=inline=1;size=${bytes.length}:${data}\x07`;
  const isPng = bytes[0] === 0x89;
  if ((env.KITTY_WINDOW_ID || env.TERM === "xterm-kitty" || env.TERM_PROGRAM === "ghostty") && isPng) {
    const parts = data.match(new RegExp(`.{1,${KITTY_CHARS}}`, "g")) ?? [];
    return parts
      .map(
        (part, at) => `\x1b_G${at === 0 ? "f=100,a=T," : ""}m=${at < parts.length - 1 ? 1 : 0};${part}\x1b\\`,
      )
      .join("");
  }
  return null;
}
