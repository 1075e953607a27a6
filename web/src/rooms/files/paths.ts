/** @module Paths inside a session. All are absolute here. */

export function parentOf(path: string): string {
  const cut = path.lastIndexOf("/");
  return cut <= 0 ? "/" : path.slice(0, cut);
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1) || "/";
}

export function joined(folder: string, name: string): string {
  return folder === "/" ? `/${name}` : `${folder}/${name}`;
}

/** What somebody typed, seen from a folder: "a/b", "../c", "/data/x". */
export function resolved(folder: string, typed: string): string {
  const parts: string[] = [];
  for (const part of (typed.startsWith("/") ? typed : joined(folder, typed)).split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return `/${parts.join("/")}`;
}

export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? "/" : `${folder}/`);
}

/** The folders above a path, from the top. */
export function foldersAbove(path: string): string[] {
  const above: string[] = [];
  for (let folder = parentOf(path); folder !== "/"; folder = parentOf(folder)) above.unshift(folder);
  return above;
}
