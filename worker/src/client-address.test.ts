import { describe, expect, it } from "vitest";
import { clientAddress } from "./client-address.ts";

const asked = (headers: Record<string, string>, clientIp?: string) =>
  Object.assign(new Request("http://x/", { headers }), clientIp === undefined ? {} : { cf: { clientIp } });

describe("a client's address", () => {
  it("is the connection's other end, without its port", () => {
    expect(clientAddress({}, asked({}, "127.0.0.1:4711"))).toBe("127.0.0.1");
    expect(clientAddress({}, asked({}, "[2001:db8::1]:4711"))).toBe("2001:db8::1");
    expect(clientAddress({}, asked({}, "2001:db8::1"))).toBe("2001:db8::1");
  });

  it("is Cloudflare's word there, and not what a client says of itself here", () => {
    const forged = { "CF-Connecting-IP": "203.0.113.9", "X-Forwarded-For": "203.0.113.9" };
    expect(clientAddress({}, asked(forged))).toBe("203.0.113.9");
    expect(clientAddress({}, asked(forged, "192.0.2.1:1"))).toBe("192.0.2.1");
  });

  it("is what the operator's proxy added last, where there is one", () => {
    const env = { CLIENT_ADDRESS_HEADER: "X-Forwarded-For" };
    expect(clientAddress(env, asked({ "X-Forwarded-For": "forged, 192.0.2.7" }, "127.0.0.1:1"))).toBe(
      "192.0.2.7",
    );
    expect(clientAddress(env, asked({}, "127.0.0.1:1"))).toBe("127.0.0.1");
  });

  it("of a request from inside is that of the request that caused it", () => {
    expect(clientAddress({ INNER: { address: "192.0.2.1" } }, asked({ "CF-Connecting-IP": "x" }))).toBe(
      "192.0.2.1",
    );
  });
});
