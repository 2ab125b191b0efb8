// Puts chunks that are loaded together into one file: a file of its own costs a start 0.2 to 0.4 ms, as much as reading
// 10 kB of code, and sharing between commands makes dozens of them. In its new file a chunk is still evaluated on use, and
// only once.
import { createHash } from 'node:crypto';

/**
 * @typedef {{ text: string, inputs: string[], imports: string[] }} File CommonJS; `imports` names the static imports
 * @typedef {(file: File, importers: number) => boolean} Takes of the chunks that others import, those to take along
 * @typedef {{ name: string, sources: string[], takes?: Takes }} Group a file for the chunks of these sources
 */

/**
 * The entry gets what it imports statically, a group its chunks with what they import, but for what is in the entry or in
 * a group before it.
 * @param {Map<string, File>} files by name; changed in place
 * @param {string} entry
 * @param {Takes} takes what the entry takes along
 * @param {readonly Group[]} groups
 */
export function gather(files, entry, takes, groups) {
  const homes = new Map();
  const settle = (names, home) => {
    for (const name of names) {
      if (name === entry || homes.has(name)) continue;
      homes.set(name, home);
      settle(files.get(name).imports, home);
    }
  };
  const importers = importersOf(files, entry);
  const taken = (takes = () => false) =>
    [...importers].filter(([name, count]) => !homes.has(name) && takes(files.get(name), count)).map(([name]) => name);
  settle(files.get(entry).imports, entry);
  const onUse = new Set(taken(takes));
  settle(onUse, entry);
  for (const { name, sources, takes } of groups) {
    settle(chunksOf(files, sources), name);
    const others = taken(takes);
    for (const each of others) onUse.add(each);
    settle(others, name);
  }

  for (const [name, file] of files) {
    if (homes.has(name) || name === entry) file.text = withoutHelpers(name, file.text);
    file.text = linked(file.text);
  }
  const others = [...files].filter(([name]) => name !== entry && !homes.has(name)).map(([, file]) => file);
  const partsOf = (home) => [...homes].filter(([, each]) => each === home).map(([name]) => name);
  const makersOf = (home) => makers(files, partsOf(home), onUse);
  const places = {};
  for (const { name } of groups) {
    const { text, inputs } = makersOf(name);
    const file = `chunks/${name}-${shortHash(text)}.js`;
    for (const part of partsOf(name)) places[basename(part)] = basename(file);
    files.set(file, {
      text: `"use strict";const{$makers,$part}=require("../main.js");${HELPERS}${LOAD}Object.assign($makers,{\n${text}\n});\n`,
      inputs,
    });
  }
  const main = files.get(entry);
  const { text, inputs } = makersOf(entry);
  main.text = `"use strict";${HELPERS}${LOAD}${loader(text, places)}${main.text}\nObject.assign(module.exports,{$makers,$part,$load});\n`;
  main.inputs.push(...inputs);
  for (const name of homes.keys()) files.delete(name);
  for (const file of others)
    if (/\$(?:part|load)\(/.test(file.text)) file.text = `const{$part,$load}=require("../main.js");${file.text}`;
}

/**
 * Finds a part: where it is made in this file, in the file of a group, or in one of its own. One that fails while it is
 * made is made again for the next caller, as Node does: an incomplete part would fail later with another error.
 */
function loader(makersText, places) {
  return `const $made={},$places=${JSON.stringify(places)},$makers={
${makersText}
};
function $part(name){
let made=$made[name];
if(made)return made.exports;
if(!$makers[name]){
const place=$places[name];
if(!place)return require("./chunks/"+name);
require("./chunks/"+place);
}
made=$made[name]={exports:{}};
try{
$makers[name](made);
}catch(error){
delete $made[name];
throw error;
}
return made.exports;
}
`;
}

/**
 * For each chunk the function that makes it. In parentheses V8 compiles it at once, instead of reading it twice: used for
 * chunks that every user of the file needs.
 */
function makers(files, names, onUse) {
  const makerOf = (name) => `function(module){${files.get(name).text}}`;
  const members = names.map((name) => `"${basename(name)}":${onUse.has(name) ? makerOf(name) : `(${makerOf(name)})`}`);
  return { text: members.join(',\n'), inputs: names.flatMap((name) => files.get(name).inputs) };
}

/**
 * What esbuild begins each CommonJS file with, for all parts of a file at once: their exports are members that get it from
 * the variable. What asks for a part gets those, where esbuild would have them copied, twice.
 */
const HELPERS = [
  'const __export=(to,from)=>{',
  'for(const name in from)Object.defineProperty(to,name,{get:from[name],enumerable:true})};',
  'const __toCommonJS=(exports)=>Object.defineProperty(exports,"__esModule",{value:true});',
  // For parts of Node, whose members may be loaded when they are asked for.
  'const __toESM=(exports)=>Object.create(exports,{default:{value:exports}});',
].join('');

/** A part that is loaded on use: `import()` as esbuild writes it has three times the length, and a file has dozens. */
const LOAD = 'const $load=(name)=>Promise.resolve(name).then($part);';

/** The helpers end where the exports begin. */
const EXPORTS = 'var stdin_exports={};';

function withoutHelpers(name, text) {
  const end = text.indexOf(EXPORTS);
  const helpers = [...text.slice(0, Math.max(0, end)).matchAll(/(?:^|[;,]|var )(__\w+)=/g)].map(([, helper]) => helper);
  const unknown = helpers.filter((helper) => !ESBUILD_HELPERS.has(helper));
  if (unknown.length > 0) throw new Error(`${name} begins with helpers that are not known here: ${unknown.join(', ')}`);
  if (end < 0 && text.startsWith('var __')) throw new Error(`${name} has helpers and no exports`);
  return end < 0 ? text : text.slice(end);
}

const ESBUILD_HELPERS = new Set([
  '__create',
  '__defProp',
  '__getOwnPropDesc',
  '__getOwnPropNames',
  '__getProtoOf',
  '__hasOwnProp',
  '__copyProps',
  '__export',
  '__toESM',
  '__toCommonJS',
]);

/** The code of a chunk, which gets other chunks from the loader in the entry. They are modules as it wants them. */
function linked(text) {
  return text
    .replace(/require\("\.\/(?:chunks\/)?([\w.-]+\.js)"\)/g, '$part("$1")')
    .replace(/__toESM\((\$part\("[\w.-]+"\))\)/g, '$1')
    .replace(/Promise\.resolve\(\)\.then\(\(\)=>\$part\(("[\w.-]+")\)\)/g, '$load($1)');
}

/** How many chunks import a chunk statically. */
function importersOf(files, entry) {
  const importers = new Map();
  for (const [name, { imports }] of files) {
    if (name === entry) continue;
    for (const each of imports) importers.set(each, (importers.get(each) ?? 0) + 1);
  }
  return importers;
}

/** A source, and the module through which it is loaded on use, which may be in a chunk of its own. */
function chunksOf(files, sources) {
  return sources.flatMap((source) => {
    const holds = ({ inputs }) => inputs.includes(source) || inputs.includes(`on-use:${source}`);
    const found = [...files].filter(([, file]) => holds(file)).map(([name]) => name);
    if (found.length === 0) throw new Error(`no chunk holds ${source}`);
    return found;
  });
}

function shortHash(text) {
  return createHash('sha256').update(text).digest('hex').slice(0, 8).toUpperCase();
}

function basename(name) {
  return name.slice(name.lastIndexOf('/') + 1);
}
