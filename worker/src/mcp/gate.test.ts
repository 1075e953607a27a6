import { describe, expect, it } from "vitest";
import { admitted, type GateSettings } from "./gate.ts";

const ask = (url: string, headers: Record<string, string> = {}, settings: GateSettings = {}) =>
  admitted(new Request(url, { headers }), settings);

describe("the gate of /mcp", () => {
  it("plain HTTP is for addresses and localhost, and for names that are listed", () => {
    for (const url of ["http://127.0.0.1:8787/mcp", "http://localhost/mcp", "http://[::1]:1/mcp"])
      expect(ask(url)).toBeNull();
    expect(() => ask("http://evil.example/mcp")).toThrow("ALLOWED_HOSTS");
    expect(ask("http://sandbar.internal/mcp", {}, { ALLOWED_HOSTS: "a, Sandbar.Internal" })).toBeNull();
  });

  it("HTTPS is for any name, unless names are listed", () => {
    expect(ask("https://sandbar.example/mcp")).toBeNull();
    expect(() => ask("https://other.example/mcp", {}, { ALLOWED_HOSTS: "sandbar.example" })).toThrow();
  });

  it("names that look like addresses are names", () => {
    for (const url of ["http://127.0.0.1.evil.example/mcp", "http://localhost.evil.example/mcp"])
      expect(() => ask(url)).toThrow();
  });

  it("a page must be of the same origin, port and scheme included, or be listed", () => {
    const url = "http://127.0.0.1:8787/mcp";
    expect(ask(url, { origin: "http://127.0.0.1:8787" })).toBe("http://127.0.0.1:8787");
    for (const origin of ["http://127.0.0.1:8788", "https://127.0.0.1:8787", "null", "nonsense", "*"])
      expect(() => ask(url, { origin })).toThrow("MCP_ALLOWED_ORIGINS");
    const settings = { MCP_ALLOWED_ORIGINS: "https://agents.example" };
    expect(ask(url, { origin: "https://agents.example" }, settings)).toBe("https://agents.example");
  });
});
