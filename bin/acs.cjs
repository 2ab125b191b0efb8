#!/usr/bin/env node
'use strict';

const fs = require('node:fs');

const STDOUT = 1;
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

/** Without process.stdout, which takes 3 ms to make: a seventh of all it takes to start Node. */
function print(answer) {
  const bytes = Buffer.from(answer);
  let written = 0;
  try {
    while (written < bytes.length) written += fs.writeSync(STDOUT, bytes, written);
  } catch (error) {
    // A reader that left has what it wanted; one that is slow gets the rest; the program has the words for anything else.
    if (error.code === 'EAGAIN') process.stdout.on('error', () => {}).write(bytes.subarray(written));
    else if (error.code !== 'EPIPE') run();
  }
}

/** What people and other programs ask for before anything else needs nothing that would have to be loaded; else null. */
function preparedAnswer([word = '--help', ...rest]) {
  if (rest.length > 0) return null;
  if (word === '--version' || word === '-V') return `${require('../package.json').version}\n`;
  if (word !== '--help' && word !== '-h' && word !== 'help') return null;
  // The build has laid out the help for 80 columns and more (scripts/build/help.mjs).
  const { columns, text } = require('../dist/help.json');
  return (columnsOfStdout() ?? columns) >= columns ? text : null;
}

/** Undefined where it is no terminal. */
function columnsOfStdout() {
  return fs.fstatSync(STDOUT).isCharacterDevice() ? process.stdout.columns : undefined;
}
