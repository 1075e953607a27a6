import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { LINE } from "./wrapped.ts";

const REPO = resolve(import.meta.dirname, "..");
const ours = (pattern: string) =>
  globSync(pattern, {
    cwd: REPO,
    exclude: (name) => /(^|\/)(node_modules|dist|__pycache__|\.\w[^/]*)$/.test(name),
  });
const PAGES = ours("**/*.md");
const FOLDERS = new Set(ours("*/").map((name) => name.replace("/", "")));
const FILE_NAMES = new Set(ours("**/*.{ts,mjs,py,js,R,c,sh,sql,toml}").map((path) => basename(path)));

const text = (page: string) => readFileSync(join(REPO, page), "utf8");
const prose = (page: string) => text(page).replace(/^ *```.*?^ *```$/gms, "");

describe.each(PAGES)("%s", (page) => {
  it("names paths that exist", () => {
    expect(namedPaths(text(page)).filter((path) => !exists(path, dirname(page)))).toEqual([]);
  });

  it("links to pages and headings that exist", () => {
    const broken = links(prose(page)).filter((link) => {
      const [path = "", anchor] = link.split("#");
      const target = path === "" ? page : relative(REPO, join(REPO, dirname(page), path));
      if (!existsSync(join(REPO, target))) return true;
      return anchor !== undefined && target.endsWith(".md") && !anchors(text(target)).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  it(`has lines of at most ${LINE} characters, tables and code apart`, () => {
    const long = prose(page)
      .split("\n")
      .filter((line) => [...line].length > LINE && !line.startsWith("|"));
    expect(long).toEqual([]);
  });
});

it.each(["agent-host/src", "worker/src", "images/guest"])(
  "architecture.md says what each folder of %s is for",
  (folder) => {
    const named = namedPaths(text("docs/architecture.md"));
    expect(ours(`${folder}/*/`).filter((path) => !named.includes(`${path.replace(/\/$/, "")}/`))).toEqual([]);
  },
);

it("the index of decisions has every note", () => {
  const notes = ours("docs/design/*.md").map((path) => basename(path));
  expect(["README.md", ...links(text("docs/design/README.md"))].sort()).toEqual(notes.sort());
});

/**
 * Words of code, in a line or in a block, that are paths of this repository: below one of its folders, or with the
 * name of a source file. Placeholders (`<home>/…`), absolute paths and addresses are somebody else's.
 */
function namedPaths(markdown: string): string[] {
  const code = [...markdown.matchAll(/```\w*\n(.*?)```|`([^`\n]+)`/gs)].map(
    ([, block, span]) => block ?? span!,
  );
  return code
    .flatMap((part) => part.split(/[\s'"()[\],;|]+/))
    .map((word) => word.replace(/^\.\//, "").replace(/[:.…]+$/, ""))
    .filter((word) => /^[\w@][\w@.{}*/-]*$/.test(word) && !/(^|\/)dist(\/|$)/.test(word))
    .filter((word) => {
      const [first, ...rest] = word.split("/");
      if (rest.length > 0) return FOLDERS.has(first!) || /\.(ts|mjs|py)$/.test(word);
      return /^[a-z][\w.-]+\.(ts|mjs)$/.test(word);
    });
}

/** A path starts at the repository or at its page; a bare file name stands for a file that its sentence has placed. */
function exists(path: string, folder: string): boolean {
  if (!path.includes("/")) return FILE_NAMES.has(path);
  if (/[*{]/.test(path)) return globSync(path, { cwd: REPO }).length > 0;
  return existsSync(join(REPO, path)) || existsSync(join(REPO, folder, path));
}

function links(markdown: string): string[] {
  return [...markdown.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link]) => link!)
    .filter((link) => !/^[a-z]+:/.test(link));
}

/** The anchors that GitHub gives to headings. */
function anchors(markdown: string): string[] {
  const seen = new Map<string, number>();
  return [...markdown.replace(/^ *```.*?^ *```$/gms, "").matchAll(/^#+ (.+)$/gm)].map(([, heading]) => {
    const slug = heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-");
    const times = seen.get(slug) ?? 0;
    seen.set(slug, times + 1);
    return times === 0 ? slug : `${slug}-${times}`;
  });
}
