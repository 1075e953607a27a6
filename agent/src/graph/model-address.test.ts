import { expect, it } from "vitest";
import { permitted } from "./model-address.ts";

const refusal = (url: string, allowed: "none" | "loopback" | "all") => {
  try {
    permitted(url, allowed);
    return null;
  } catch (error) {
    return (error as { code: string }).code;
  }
};

const NOT = "MODEL_URL_NOT_ALLOWED";

it.each([
  // none, loopback, all
  ["https://api.openai.com/v1", null, null, null],
  ["http://8.8.8.8/v1", null, null, null],
  ["http://127.0.0.1:11434/v1", NOT, null, null],
  ["http://127.1/v1", NOT, null, null],
  ["http://2130706433/v1", NOT, null, null],
  ["http://localhost:1234", NOT, null, null],
  ["http://LOCALHOST.:1234", NOT, null, null],
  ["http://a.localhost", NOT, null, null],
  ["http://[::1]/v1", NOT, null, null],
  ["http://[::ffff:127.0.0.1]/v1", NOT, null, null],
  ["http://10.0.0.1/v1", NOT, NOT, null],
  ["http://172.20.0.5/v1", NOT, NOT, null],
  ["http://192.168.1.1/v1", NOT, NOT, null],
  ["http://100.100.100.200/v1", NOT, NOT, null],
  ["http://198.18.0.1/v1", NOT, NOT, null],
  ["http://0.0.0.0/v1", NOT, NOT, null],
  ["http://[::ffff:10.0.0.1]/v1", NOT, NOT, null],
  ["http://[fd00::1]/v1", NOT, NOT, null],
  ["http://[64:ff9b::a00:1]/v1", NOT, NOT, null],
  ["http://gpu.local/v1", NOT, NOT, null],
  ["http://metadata.google.internal/v1", NOT, NOT, null],
  ["http://169.254.169.254/v1", NOT, NOT, NOT],
  ["http://[::ffff:169.254.169.254]/v1", NOT, NOT, NOT],
  ["http://168.63.129.16/v1", NOT, NOT, NOT],
  ["file:///etc/passwd", "MODEL_INVALID", "MODEL_INVALID", "MODEL_INVALID"],
  ["https://", "MODEL_INVALID", "MODEL_INVALID", "MODEL_INVALID"],
])("%s", (url, none, loopback, all) => {
  expect([refusal(url, "none"), refusal(url, "loopback"), refusal(url, "all")]).toEqual([
    none,
    loopback,
    all,
  ]);
});
