#!/usr/bin/env node
'use strict';

const [major, minor, patch] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && (minor < 18 || (minor === 18 && patch < 1)))) {
  process.stderr.write(`error: acs needs Node 20.18.1 or newer; this is ${process.versions.node}\n`);
  process.exitCode = 70;
} else {
  const answer = preparedAnswer(process.argv.slice(2));
  if (answer === null) run();
  else print(answer);
}

function run() {
  require('../dist/main.js').main(require('node:path').join(__dirname, '..'));
}

function print(answer) {
  process.stdout.on('error', () => {}); // the write tells, too
  process.stdout.write(answer, (error) => {
    // A reader that left has what it wanted; the program has the words for anything else.
    if (error && error.code !== 'EPIPE') run();
  });
}

/** What people and other programs ask for before anything else needs nothing that would have to be loaded; else null. */
function preparedAnswer([word = '--help', ...rest]) {
  if (rest.length > 0) return null;
  if (word === '--version' || word === '-V') return `${require('../package.json').version}\n`;
  if (word !== '--help' && word !== '-h' && word !== 'help') return null;
  // The build has laid out the help for these widths (scripts/build/help.mjs).
  const { standard, wide } = require('../dist/help.json');
  const columns = process.stdout.columns || standard.columns;
  if (columns === standard.columns) return standard.text;
  return columns >= wide.columns ? wide.text : null;
}
