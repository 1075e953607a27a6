"use strict";
// Code evaluated through the inspector knows no `import`. Static ones become declarations that a later cell may repeat, dynamic ones a call.

const STATIC =
  /import\s+(?:([\w$]+)\s*(?:,\s*)?)?(?:\*\s*as\s+([\w$]+)|\{([^}]*)\})?\s*from\s*(["'])([^"'\n]+)\4(?:\s*with\s*\{[^}]*\})?[ \t]*;?/y;
const BARE = /import\s*(["'])([^"'\n]+)\1[ \t]*;?/y;

/** Positions of the word `import` that are code, not text, comment or property. */
function keywords(code) {
  const found = [];
  const braces = [];
  let i = 0;
  while (i < code.length) {
    const c = code[i];
    const two = code.slice(i, i + 2);
    if (two === "//") {
      const end = code.indexOf("\n", i);
      i = end < 0 ? code.length : end;
    } else if (two === "/*") {
      const end = code.indexOf("*/", i + 2);
      i = end < 0 ? code.length : end + 2;
    } else if (c === '"' || c === "'") {
      i = endOfString(code, i);
    } else if (c === "`") {
      i = endOfTemplatePart(code, i + 1, braces);
    } else if (c === "{") {
      braces.push("{");
      i++;
    } else if (c === "}") {
      i = braces.pop() === "`" ? endOfTemplatePart(code, i + 1, braces) : i + 1;
    } else if (/[\w$]/.test(c)) {
      const word = /[\w$]+/y;
      word.lastIndex = i;
      const [text] = word.exec(code);
      if (text === "import" && !/\.\s*$/.test(code.slice(Math.max(0, i - 20), i)))
        found.push({ at: i, depth: braces.length });
      i += text.length;
    } else {
      i++;
    }
  }
  return found;
}

function endOfString(code, start) {
  for (let i = start + 1; i < code.length; i++) {
    if (code[i] === "\\") i++;
    else if (code[i] === code[start] || code[i] === "\n") return i + 1;
  }
  return code.length;
}

function endOfTemplatePart(code, start, braces) {
  for (let i = start; i < code.length; i++) {
    if (code[i] === "\\") i++;
    else if (code[i] === "`") return i + 1;
    else if (code[i] === "$" && code[i + 1] === "{") {
      braces.push("`");
      return i + 2;
    }
  }
  return code.length;
}

/** `load` is the expression that gives a module's namespace, `dynamic` the function that stands for `import()`. */
function rewriteImports(code, load, dynamic) {
  if (!code.includes("import")) return code;
  let out = "";
  let from = 0;
  for (const { at, depth } of keywords(code)) {
    if (at < from) continue;
    const call = /import\s*\(/y;
    call.lastIndex = at;
    let text;
    let end;
    if (call.test(code)) {
      text = `${dynamic}(`;
      end = call.lastIndex;
    } else if (depth === 0) {
      STATIC.lastIndex = BARE.lastIndex = at;
      const statement = STATIC.exec(code);
      const bare = statement ? null : BARE.exec(code);
      if (statement) {
        text = declaration(statement, load);
        end = STATIC.lastIndex;
      } else if (bare) {
        text = `${load(JSON.stringify(bare[2]))};`;
        end = BARE.lastIndex;
      } else continue;
    } else continue;
    out += code.slice(from, at) + text;
    from = end;
  }
  return out + code.slice(from);
}

function declaration([whole, name, star, names], load) {
  const specifier = /from\s*["']([^"'\n]+)["']/.exec(whole)[1];
  const parts = [];
  if (name) parts.push(`default: ${name}`);
  for (const item of (names ?? "").split(",")) {
    const [from, to] = item.trim().split(/\s+as\s+/);
    if (from) parts.push(to ? `${from}: ${to}` : from);
  }
  const module = load(JSON.stringify(specifier));
  // The same number of lines, so that positions in messages stay right.
  const lines = "\n".repeat(whole.split("\n").length - 1);
  if (star) return `const ${star} = ${module}${name ? `, {${parts.join(", ")}} = ${star}` : ""};${lines}`;
  return `const {${parts.join(", ")}} = ${module};${lines}`;
}

module.exports = { rewriteImports };
