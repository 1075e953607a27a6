/** @module A progress bar on standard error, only where somebody looks. */
import { Transform } from "node:stream";
import { clean, size } from "./print.ts";

export type ProgressBar = ReturnType<typeof progressBar>;

const WIDTH = 24;
const EVERY_MS = 100;

export function progressBar(name: string, stream: NodeJS.WriteStream = process.stderr) {
  const label = clean(name).slice(-32);
  const began = Date.now();
  let drawn = 0;
  let last: [number, number | null] = [0, null];
  const draw = () => {
    const [bytes, total] = last;
    const rate = `${size(Math.round(bytes / Math.max(0.001, (Date.now() - began) / 1000)))}/s`;
    const share = total ? Math.min(1, bytes / total) : 0;
    const bar = total === null ? "" : `[${"#".repeat(Math.round(share * WIDTH)).padEnd(WIDTH, "·")}] `;
    stream.write(
      `\r\x1b[K${label}  ${bar}${size(bytes)}${total === null ? "" : ` of ${size(total)}`}  ${rate}`,
    );
    drawn = Date.now();
  };
  const update = (bytes: number, total: number | null): void => {
    last = [bytes, total];
    if (stream.isTTY && Date.now() - drawn > EVERY_MS) draw();
  };
  return {
    update,
    /** Passes bytes on and shows how many, where nobody knows the total. */
    meter(): Transform {
      let bytes = 0;
      return new Transform({
        transform(chunk: Buffer, _, next) {
          bytes += chunk.length;
          update(bytes, null);
          next(null, chunk);
        },
      });
    },
    done(): void {
      if (!stream.isTTY) return;
      draw();
      stream.write("\n");
    },
  };
}
