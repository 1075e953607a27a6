import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { caBundleFile } from "./ca-bundle.ts";
import { aptUris, sourcesList } from "./debian-mirror.ts";
import { buildArgs, stepTitle } from "./image-build.ts";
import { imageTag } from "./image-tag.ts";

const folderWith = (content: string) => {
  const folder = mkdtempSync(join(tmpdir(), "sandbar-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "Dockerfile"), content);
  return folder;
};

test("an image's tag depends on its recipe and its base, and not on where the folder lies", () => {
  const tag = imageTag("python", [folderWith("FROM a")], 1);
  expect(tag).toMatch(/^sandbar\/python:[0-9a-f]{12}$/);
  expect(imageTag("python", [folderWith("FROM a")], 1)).toBe(tag);
  expect(imageTag("python", [folderWith("FROM b")], 1)).not.toBe(tag);
  expect(imageTag("python", [folderWith("FROM a")], 2)).not.toBe(tag);
  expect(imageTag("python", [folderWith("FROM a"), folderWith("shared")], 1)).not.toBe(tag);
});

test("a build gets the proxies, and of the package indexes those its Dockerfile asks for", () => {
  const env = {
    https_proxy: "http://proxy",
    PIP_INDEX_URL: "http://pip",
    NPM_CONFIG_REGISTRY: "http://npm",
    TOKEN: "x",
  };
  expect(buildArgs("FROM a\nARG PIP_INDEX_URL\n", env)).toEqual({
    BASE: "sandbar/base:trixie",
    https_proxy: "http://proxy",
    PIP_INDEX_URL: "http://pip",
  });
  expect(buildArgs("ARG npm_config_registry", env)).toMatchObject({ npm_config_registry: "http://npm" });
});

test("progress names the steps that take time", () => {
  expect(stepTitle("Step 3/9 : RUN apt-get   update")).toBe("3/9 RUN apt-get update");
  expect(stepTitle("Step 4/9 : ENV A=b")).toBeUndefined();
  expect(stepTitle(" ---> 0123456789ab")).toBeUndefined();
});

test("apt's mirrors are read from both kinds of sources", () => {
  const sources = `
# deb http://commented/debian trixie main
deb [signed-by=/k.gpg arch=amd64] http://one/debian/ bookworm main
deb-src http://source/debian bookworm main
deb cdrom:[disc]/ bookworm main
Types: deb
URIs: http://two/debian https://three/debian-security
`;
  expect(aptUris(sources)).toEqual([
    "http://one/debian",
    "http://two/debian",
    "https://three/debian-security",
  ]);
  expect(sourcesList("trixie", { main: "http://one/debian", security: "http://two/s" })).toBe(
    "deb http://one/debian trixie main\ndeb http://two/s trixie-security main\n",
  );
});

test("the CA bundle for builds: the one asked for, else the host's, and a wrong path is an error", () => {
  const file = join(folderWith("x"), "Dockerfile");
  expect(caBundleFile({ SANDBAR_CA_BUNDLE: file, SSL_CERT_FILE: "/other" })).toBe(file);
  expect(caBundleFile({ SANDBAR_CA_BUNDLE: "", SSL_CERT_FILE: file })).toBeUndefined();
  expect(caBundleFile({ SSL_CERT_FILE: "/does/not/exist", NODE_EXTRA_CA_CERTS: file })).toBe(file);
  expect(caBundleFile({})).toBeUndefined();
  expect(() => caBundleFile({ SANDBAR_CA_BUNDLE: "/does/not/exist" })).toThrow(/does not exist/);
});
