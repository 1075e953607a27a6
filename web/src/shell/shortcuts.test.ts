import { describe, expect, it } from "vitest";
import { pressOf } from "./shortcuts.ts";

const press = (key: string, modifiers: Partial<Parameters<typeof pressOf>[0]> = {}) => ({
  key,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  shiftKey: false,
  ...modifiers,
});

describe("a key press, as shortcuts write it", () => {
  it("is the character that was printed, with its Shift inside", () => {
    expect(pressOf(press("?", { shiftKey: true }), false)).toBe("?");
    expect(pressOf(press("g"), false)).toBe("g");
  });

  it("names Shift with keys that print nothing", () => {
    expect(pressOf(press("Enter", { shiftKey: true }), false)).toBe("Shift+Enter");
  });

  it("has Mod for Ctrl, and for ⌘ on a Mac", () => {
    expect(pressOf(press("k", { ctrlKey: true }), false)).toBe("Mod+K");
    expect(pressOf(press("k", { metaKey: true }), true)).toBe("Mod+K");
    expect(pressOf(press("K", { ctrlKey: true, shiftKey: true }), false)).toBe("Mod+Shift+K");
  });

  it("is not Mod for the other system's key", () => {
    expect(pressOf(press("k", { metaKey: true }), false)).toBe("K");
  });
});
