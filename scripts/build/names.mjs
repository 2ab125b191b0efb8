// Names chunks after their content: `undici-7QHW2KXA.js`, not `index-7QHW2KXA.js`.

/**
 * A chunk is named by what is loaded with it: a library, or a file of ours. One that others share is named by what fills
 * most of it.
 * @returns {{ rename(text: string): string }} which replaces each chunk's name wherever it stands in a text
 */
export function readableNames(metafile) {
  const renamed = new Map();
  for (const [output, { entryPoint, inputs }] of Object.entries(metafile.outputs)) {
    const match = /chunks\/(?:.*\/)?([^/]+-([A-Z0-9]{8})\.js)$/.exec(output);
    if (match) renamed.set(match[1], `${plain(entryPoint ? subject(entryPoint) : largest(inputs))}-${match[2]}.js`);
  }
  return { rename: (text) => text.replace(/[\w.-]+-[A-Z0-9]{8}\.js/g, (name) => renamed.get(name) ?? name) };
}

function largest(inputs) {
  const sizes = new Map();
  for (const [input, { bytesInOutput }] of Object.entries(inputs)) {
    sizes.set(subject(input), (sizes.get(subject(input)) ?? 0) + bytesInOutput);
  }
  const [first] = [...sizes].sort(([a, sizeA], [b, sizeB]) => sizeB - sizeA || (a < b ? -1 : 1));
  return first?.[0] ?? 'shared';
}

/** The package that a file is from, or the path of one of ours. */
function subject(input) {
  return /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1] ?? input.replace(/^(on-use:)?src\/|\.ts$/g, '');
}

function plain(name) {
  return name.replace(/^@/, '').replace(/[^\w.]+/g, '-');
}
