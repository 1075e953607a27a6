import { describe, expect, it } from "vitest";
import { wantsMore } from "./wants-more.ts";

describe("the prompt asks for more", () => {
  it.each([
    ["python", "for i in range(3):"],
    ["python", "for i in range(3):\n    print(i)"],
    ["python", "x = ["],
    ["python", 'text = """first'],
    ["python", "@decorator"],
    ["python", "1 + \\"],
    ["node", "function f() {"],
    ["node", "const a = `x"],
    ["node", "const a ="],
    ["r", "x <- c(1,"],
    ["r", "df %>%"],
    ["bash", "for i in 1 2; do"],
    ["bash", "echo 'it"],
  ] as const)("%s: %s", (language, cell) => expect(wantsMore(cell, language)).toBe(true));
});

describe("the prompt runs at once", () => {
  it.each([
    ["python", "1 + 1"],
    ["python", "for i in range(3):\n    print(i)\n"],
    ["python", "print('(')"],
    ["python", "x = 1  # ("],
    ["python", "d = {'a': 1}"],
    ["python", "it's broken"],
    ["node", "i++"],
    ["node", "const a = '('"],
    ["r", "x <- 1"],
    ["bash", "for i in 1 2; do echo $i; done"],
    ["bash", "echo done"],
  ] as const)("%s: %s", (language, cell) => expect(wantsMore(cell, language)).toBe(false));
});
