#!/usr/bin/env node
'use strict';

const [major, minor, patch] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && (minor < 18 || (minor === 18 && patch < 1)))) {
  process.stderr.write(`error: acs needs Node 20.18.1 or newer; this is ${process.versions.node}\n`);
  process.exitCode = 70;
} else if (process.argv.length === 3 && (process.argv[2] === '--version' || process.argv[2] === '-V')) {
  // What other programs ask before anything else needs nothing that would have to be loaded.
  process.stdout.on('error', () => {}); // nobody may be reading
  process.stdout.write(`${require('../package.json').version}\n`);
} else {
  require('../dist/main.js').main(require('node:path').join(__dirname, '..'));
}
