import { describe, expect, it } from "vitest";
import { isPublicAddress, requirePublicHost } from "./address-guard.ts";

describe("addresses of the outside world", () => {
  it.each([
    "8.8.8.8",
    "93.184.215.14",
    "172.32.0.1",
    "100.128.0.1",
    "2606:4700:4700::1111",
    "::ffff:8.8.8.8",
  ])("%s is one", (address) => expect(isPublicAddress(address)).toBe(true));

  it.each([
    "0.0.0.0",
    "10.1.2.3",
    "127.0.0.1",
    "127.255.0.1",
    "169.254.169.254",
    "172.31.255.255",
    "192.168.1.1",
    "192.0.0.192",
    "168.63.129.16",
    "::ffff:168.63.129.16",
    "100.64.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:a9fe:a9fe",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "not an address",
  ])("%s is not", (address) => expect(isPublicAddress(address)).toBe(false));

  it.each(["http://127.1/", "http://2130706433/", "http://0x7f.0.0.1/", "http://[::1]:80/", "http://0/"])(
    "%s is refused however it is written",
    (url) => expect(() => requirePublicHost(new URL(url))).toThrow(/private/),
  );
});
