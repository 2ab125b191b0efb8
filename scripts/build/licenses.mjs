// The licences of what is bundled: most of them ask to be shipped with every copy.
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';

/**
 * One text of all packages that the inputs of a build are from, and of the table of models, the packages in order of their
 * names. Throws when a package has neither a licence file nor the name of one.
 */
export function licenses(root, inputs, models) {
  const packages = new Set();
  for (const input of inputs) {
    const match = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (match) packages.add(match[1]);
  }
  return [...packages]
    .sort()
    .map((folder) => entry(path.join(root, folder)))
    .concat(modelsEntry(path.join(root, models)))
    .join(`${'-'.repeat(80)}\n`);
}

function modelsEntry(file) {
  const { source } = JSON.parse(readFileSync(file, 'utf8'));
  return `${source}\n\n${own('litellm')}`;
}

function entry(folder) {
  const { name, version, license } = JSON.parse(
    readFileSync(path.join(folder, 'package.json'), 'utf8'),
  );
  const file = readdirSync(folder).find((each) => /^licen[cs]e(\.(md|txt))?$/i.test(each));
  if (!file && !license)
    throw new Error(`${name} ${version} names no licence: it cannot be bundled`);
  const text = file ? `${readFileSync(path.join(folder, file), 'utf8').trim()}\n` : '';
  return (
    `${name} ${version} ` + `(${license})\n\n${text}${name === 'jq-wasm' ? `\n${own('jq')}` : ''}`
  );
}

/** Of what is bundled without its licence: the program in jq-wasm, the table of LiteLLM. */
function own(name) {
  return readFileSync(new URL(`licenses/${name}.txt`, import.meta.url), 'utf8');
}
