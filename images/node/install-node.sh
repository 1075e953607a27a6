#!/bin/sh
# Puts node, npm and npx under the given prefix, as Node's own archive lays them out, and what our kernel adds to them.
set -eu
prefix="$1"
node_version=24.21.0
npm_version=11.21.1
case "$(dpkg --print-architecture)" in
  amd64) arch=x64 ;;
  arm64) arch=arm64 ;;
  *) echo "no Node $node_version for $(dpkg --print-architecture)" >&2; exit 1 ;;
esac

mkdir -p /tmp/fetch "$prefix/bin" "$prefix/lib/node_modules" "$prefix/lib/sandbar"
cd /tmp/fetch
npm install --no-save --ignore-scripts --no-audit --no-fund --no-package-lock \
  "node-linux-$arch@$node_version" "npm@$npm_version"
cp "node_modules/node-linux-$arch/bin/node" "$prefix/bin/node"
cp -r node_modules/npm "$prefix/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$prefix/bin/npm"
ln -s ../lib/node_modules/npm/bin/npx-cli.js "$prefix/bin/npx"
gcc -O2 -Wall -Werror -fPIC -shared -I "node_modules/node-linux-$arch/include/node" \
  -o "$prefix/lib/sandbar/descriptors.node" /build/descriptors.c
