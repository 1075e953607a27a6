import { expect, it } from "vitest";
import { portsIn } from "./found-ports.ts";

it("finds the ports that servers say they listen on", () => {
  const said = [
    "Serving HTTP on 0.0.0.0 port 8000 (http://0.0.0.0:8000/) ...",
    "  ➜  Local:   \x1b[36mhttp://localhost:\x1b[1m5173\x1b[22m/\x1b[39m",
    "INFO: Uvicorn running on http://127.0.0.1:8080 (Press CTRL+C to quit)",
    "Server listening on :3000",
    "http://[::]:9000/",
  ].join("\n");
  expect(portsIn(said)).toEqual([8000, 5173, 8080, 3000, 9000]);
});

it("takes no other number for one", () => {
  expect(portsIn("took 8000 ms, port 70000, http://example.com:80/, 127.0.0.1 - - 200")).toEqual([]);
});
