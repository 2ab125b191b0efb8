#!/usr/bin/env node
'use strict';

const fs = require('node:fs');

const STDOUT = 1;
const [major, minor, patch] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && (minor < 18 || (minor === 18 && patch < 1)))) {
  process.stderr.write(
    `error: acs needs Node 20.18.1 or newer; this is ${process.versions.node}\n`,
  );
  process.exitCode = 70;
} else {
  const answer = preparedAnswer(process.argv.slice(2));
  if (answer === null) run();
  else print(answer);
}

function run() {
  cacheCompiledCode();
  require('../dist/main.js')['src/main.ts'].main(require('node:path').join(__dirname, '..'));
}

/** Takes a twentieth of the processor time off a list. Node 20 has no such cache. */
function cacheCompiledCode() {
  const { enableCompileCache } = require('node:module');
  if (enableCompileCache === undefined) return;
  const { env, platform, getuid } = process;
  const user = { env, platform, home: require('node:os').homedir(), uid: getuid?.() };
  const folder = require('../dist/compile-cache.js').compileCacheFolder(user);
  if (folder !== null) enableCompileCache(folder);
}

/** Without process.stdout, which takes 3 ms to make: a seventh of all it takes to start Node. */
function print(answer) {
  const bytes = Buffer.from(answer);
  let written = 0;
  try {
    while (written < bytes.length) written += fs.writeSync(STDOUT, bytes, written);
  } catch (error) {
    // EPIPE: the reader has closed the pipe. EAGAIN: Node writes the rest as the reader takes it.
    // The program reports any other error.
    if (error.code === 'EAGAIN')
      process.stdout.on('error', () => {}).write(bytes.subarray(written));
    else if (error.code !== 'EPIPE') run();
  }
}

/**
 * The version, or a page of help: nothing of the program is loaded for them. Null for any other
 * command line.
 */
function preparedAnswer(words) {
  const last = words.at(-1);
  if (words.length === 1 && (last === '--version' || last === '-V'))
    return `${require('../package.json').version}\n`;
  const isFlag = last === '--help' || last === '-h';
  if (words.length > 0 && !isFlag && words[0] !== 'help') return null;
  const names = isFlag ? words.slice(0, -1) : words.slice(1);
  if (!names.every((name) => /^[a-z][a-z-]*$/.test(name))) return null;
  const page =
    (isFlag ? null : read(`topic.${names.join('.')}`)) ?? read(['acs', ...names].join('.'));
  return page !== null && fits(page) ? page : null;
}

function read(page) {
  try {
    return fs.readFileSync(`${__dirname}/../dist/help/${page}.txt`);
  } catch {
    return null;
  }
}

/**
 * The build has laid out the pages for 80 columns and more (scripts/build/help-pages.ts); a longer
 * one is paged.
 */
function fits(page) {
  if (!fs.fstatSync(STDOUT).isCharacterDevice()) return true;
  const { columns, rows } = process.stdout;
  return !(columns < 80) && !(rows < page.toString().split('\n').length);
}
