#!/usr/bin/env node
'use strict';

const [major, minor, patch] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && (minor < 18 || (minor === 18 && patch < 1)))) {
  process.stderr.write(`error: acs needs Node 20.18.1 or newer; this is ${process.versions.node}\n`);
  process.exitCode = 70;
} else {
  require('../dist/main.js').main(require('node:path').join(__dirname, '..'));
}
