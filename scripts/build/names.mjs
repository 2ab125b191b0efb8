// Names of chunks that tell what is in them: `undici-7QHW2KXA.js`, not `index-7QHW2KXA.js`.

/**
 * A chunk is named by what fills most of it: a library, or a file of ours.
 * @returns {{ rename(text: string): string }} which replaces each chunk's name wherever it stands in a text
 */
export function readableNames(metafile) {
  const renamed = new Map();
  for (const [output, { inputs }] of Object.entries(metafile.outputs)) {
    const match = /chunks\/(.+-([A-Z0-9]{8})\.js)$/.exec(output);
    if (match) renamed.set(match[1], `${subject(inputs)}-${match[2]}.js`);
  }
  return { rename: (text) => text.replace(/[\w.-]+-[A-Z0-9]{8}\.js/g, (name) => renamed.get(name) ?? name) };
}

function subject(inputs) {
  const sizes = new Map();
  for (const [input, { bytesInOutput }] of Object.entries(inputs)) {
    const name = /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1] ?? input.replace(/^src\/|\.ts$/g, '');
    sizes.set(name, (sizes.get(name) ?? 0) + bytesInOutput);
  }
  const [largest] = [...sizes].sort(([a, sizeA], [b, sizeB]) => sizeB - sizeA || (a < b ? -1 : 1));
  return (largest?.[0] ?? 'shared').replace(/^@/, '').replace(/[^\w.]+/g, '-');
}
