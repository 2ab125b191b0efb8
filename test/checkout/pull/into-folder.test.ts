import { lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { git, shell } from '../../support/patch-matrix.ts';
import { usePlace } from './support.ts';

const place = usePlace(':');
const folder = () => path.join(place.dir, 'result');

describe('a pull into a folder', () => {
  it('writes files byte for byte, with their modes and links, whatever git is set to convert', async () => {
    shell(
      place.root,
      'printf "a\\r\\n" >crlf && printf "\\000\\377" >bin && echo x >run && chmod +x run && ln -s run link',
    );
    writeFileSync(path.join(place.root, '.gitattributes'), '* text=auto eol=crlf ident\n');
    writeFileSync(path.join(place.root, 'lf'), 'a\n$Id$\n');
    git(place.root, 'add', '-A');
    const patch = git(place.root, '-c', 'core.autocrlf=false', 'diff', '--cached', '--binary', '--full-index', 'HEAD');

    const { files } = await place.retriever.intoFolder({
      folder: folder(),
      patch: new TextEncoder().encode(`${patch}\n`),
      dryRun: false,
    });

    expect(files.sort()).toEqual(['.gitattributes', 'bin', 'crlf', 'lf', 'link', 'run']);
    expect(readFileSync(path.join(folder(), 'lf'), 'utf8')).toBe('a\n$Id$\n');
    expect(readFileSync(path.join(folder(), 'bin'))).toEqual(Buffer.from([0, 255]));
    expect(lstatSync(path.join(folder(), 'run')).mode & 0o111).not.toBe(0);
    expect(lstatSync(path.join(folder(), 'link')).isSymbolicLink()).toBe(true);
    expect(readdirSync(place.dir).sort()).toEqual(['result', 'root']);
  });

  it('makes no folder in a dry run', async () => {
    const patch = place.patchOf('echo new >new.txt');

    await place.retriever.intoFolder({ folder: folder(), patch, dryRun: true });

    expect(readdirSync(place.dir)).toEqual(['root']);
  });
});

describe('the check of the folder', () => {
  it('accepts a new or an empty one', () => {
    place.retriever.checkFolder(folder());
    mkdirSync(folder());
    place.retriever.checkFolder(folder());
  });

  it('refuses one with files, a file, and one whose parent is missing', () => {
    mkdirSync(folder());
    writeFileSync(path.join(folder(), 'x'), '');

    expect(() => place.retriever.checkFolder(folder())).toThrow(/not empty/);
    expect(() => place.retriever.checkFolder(path.join(folder(), 'x'))).toThrow(/is a file/);
    expect(() => place.retriever.checkFolder(path.join(place.dir, 'no', 'such'))).toThrow(/does not exist/);
  });
});
