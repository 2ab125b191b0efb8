import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { gather } from '../../scripts/build/gather.mjs';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'acs-gather-'));
  mkdirSync(path.join(dir, 'chunks'));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

interface Chunk {
  name: string;
  code: string;
  imports?: string[];
}

/** The last output of a script that has `load`, with which the entry loads a chunk on use. */
function run(chunks: Chunk[], script: string): unknown {
  const load = chunks.map(({ name }) => `"${name}":()=>require("./chunks/${name}.js")`).join(',');
  const entry = { text: `var stdin_exports={};module.exports=stdin_exports;stdin_exports.load={${load}};` };
  const files = new Map([['main.js', { ...entry, inputs: ['src/main.ts'], imports: [] as string[] }]]);
  for (const { name, code, imports = [] } of chunks) {
    files.set(`chunks/${name}.js`, {
      text: `var stdin_exports={};module.exports=stdin_exports;${code}`,
      inputs: [`src/${name}.ts`],
      imports: imports.map((each) => `chunks/${each}.js`),
    });
  }
  gather(files, 'main.js', () => false, [{ name: 'group', sources: ['src/a.ts', 'src/b.ts'] }]);
  for (const [name, { text }] of files) writeFileSync(path.join(dir, name), text);
  const main = `const{load}=require(${JSON.stringify(path.join(dir, 'main.js'))});${script}`;
  return JSON.parse(execFileSync(process.execPath, ['-e', main], { encoding: 'utf8' }));
}

const print = (value: string): string => `console.log(JSON.stringify(${value}));`;

describe('chunks that are merged into one file', () => {
  it('are evaluated on their first import, once for all importers', () => {
    const chunks = [
      { name: 'shared', code: 'globalThis.made=(globalThis.made??0)+1;stdin_exports.made=globalThis.made;' },
      { name: 'a', code: 'stdin_exports.from=require("./shared.js").made;', imports: ['shared'] },
      { name: 'b', code: 'stdin_exports.from=require("./shared.js").made;', imports: ['shared'] },
      { name: 'c', code: 'stdin_exports.from=require("./shared.js").made;', imports: ['shared'] },
    ];
    const before = 'const before=globalThis.made??0;';
    expect(run(chunks, `${before}${print('[before,load.a().from,load.b().from,load.c().from]')}`)).toEqual([
      0, 1, 1, 1,
    ]);
  });

  it('run in strict mode, like modules', () => {
    const chunks = [
      {
        name: 'a',
        code: 'require("./b.js");stdin_exports.self=(function(){return this===undefined})();',
        imports: ['b'],
      },
      { name: 'b', code: '' },
    ];
    expect(run(chunks, print('load.a().self'))).toBe(true);
  });

  it('are loaded on use by import(): later, once, and with a failure as a rejection', () => {
    const later = (name: string): string => `()=>Promise.resolve().then(()=>require("./${name}.js"))`;
    const chunks = [
      { name: 'a', code: `stdin_exports.later=${later('b')};stdin_exports.broken=${later('d')};` },
      { name: 'b', code: 'globalThis.made=(globalThis.made??0)+1;stdin_exports.value=globalThis.made;' },
      { name: 'c', code: `stdin_exports.later=${later('b')};` },
      { name: 'd', code: 'throw new Error("it cannot be made");' },
    ];
    const ask = `const { later, broken } = load.a();
      const first = later();
      const before = globalThis.made ?? 0;
      Promise.all([first, load.c().later(), broken().catch((error) => error.message)])
        .then(([one, two, why]) => console.log(JSON.stringify([before, one.value, two.value, why])));`;
    expect(run(chunks, ask)).toEqual([0, 1, 1, 'it cannot be made']);
  });

  it('throw the same error again for every import after a failure', () => {
    const chunks = [
      { name: 'a', code: 'stdin_exports.half=1;throw new Error("it cannot be made");' },
      { name: 'b', code: 'stdin_exports.a=require("./a.js").half;', imports: ['a'] },
    ];
    const ask = 'const said=["a","a","b"].map((name)=>{try{return load[name]()}catch(error){return error.message}});';
    expect(run(chunks, ask + print('said'))).toEqual(Array.from({ length: 3 }, () => 'it cannot be made'));
  });
});
