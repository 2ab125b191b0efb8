/**
 * What the shell of a sandbox does for a copy: it reports what a path names, packs a folder, and puts what was uploaded
 * in its place. For a POSIX shell with the programs of GNU or BusyBox. Paths in the output are in base64, because a
 * name may have any byte.
 */
import { shellQuote } from '../../text/shell-quote.ts';

/** Names that begin so are of copies that have not ended. */
const OWN = '.acs-cp-';

const PRINT_PATH = `printf %s "$p" | base64 | tr -d '\\n'; echo`;

/** Prints `ACS-PLACE <kind> -<rwx><permission bits> -<d if the parent is a folder><w> <bytes> <path>`. */
export function lookScript(path: string, workingDir: string | null): string {
  return `
command -v base64 >/dev/null 2>&1 || exit 44
${workingDir === null ? '' : `cd -- ${shellQuote(workingDir)} 2>/dev/null`}
p=${shellQuote(path.replace(/\/+$/, '') || '/')}
case $p in /*) ;; *) p=$(pwd)/$p ;; esac
if [ -d "$p" ]; then
  k=folder
  r=$(cd -P -- "$p" 2>/dev/null && pwd && echo .) && p=\${r%??}
elif [ -e "$p" ]; then
  k=other
  if [ -f "$p" ]; then k=file; fi
  if [ -L "$p" ]; then r=$(readlink -f -- "$p" && echo .) && p=\${r%??}; fi
elif [ -L "$p" ]; then
  k=other
else
  k=none
fi
d=$(dirname -- "$p" && echo .)
d=\${d%??}
own=-
[ -r "$p" ] && own=\${own}r
[ -w "$p" ] && own=\${own}w
[ -x "$p" ] && own=\${own}x
own=$own$(stat -c %a -- "$p" 2>/dev/null)
up=-
[ -d "$d" ] && up=\${up}d
[ -w "$d" ] && [ -x "$d" ] && up=\${up}w
size=0
if [ "$k" = file ] && [ -r "$p" ]; then size=$(($(wc -c <"$p"))); fi
printf 'ACS-PLACE %s %s %s %s ' "$k" "$own" "$up" "$size"
${PRINT_PATH}
`;
}

export const PLACE = /^ACS-PLACE (file|folder|other|none) (-r?w?x?)([0-7]+)? (-d?w?) (\d+) ([A-Za-z0-9+/=]+)$/m;

/**
 * Packs a folder into a temporary one and prints `ACS-ARCHIVE <bytes> <path>`. A file that changes meanwhile is in the
 * archive with its bytes of that time; one that cannot be read is an error.
 */
export function packScript(folder: string, token: string): string {
  return `
command -v tar >/dev/null 2>&1 || exit 44
t=${temporaryFolder(token)}
mkdir -m 700 -- "$t" || exit 1
LC_ALL=C tar -cf "$t/archive" -C ${shellQuote(folder)} . 2>"$t/errors"
c=$?
if [ "$c" -gt 1 ] || { [ "$c" = 1 ] && grep -v 'as we read it' "$t/errors" >/dev/null; }; then
  cat "$t/errors" >&2
  rm -rf -- "$t"
  exit 45
fi
p=$t/archive
printf 'ACS-ARCHIVE %s ' "$(($(wc -c <"$p")))"
${PRINT_PATH}
`;
}

export const ARCHIVE = /^ACS-ARCHIVE (\d+) ([A-Za-z0-9+/=]+)$/m;

function temporaryFolder(token: string): string {
  return `"\${TMPDIR:-/tmp}/${OWN.slice(1)}${token}"`;
}

/** Removes what packScript has made. */
export function unpackedScript(token: string): string {
  return `rm -rf -- ${temporaryFolder(token)}`;
}

/** Where the upload of a copy goes before it has its name: in the folder that is there, else beside the target. */
export function stageOf(folder: string, token: string): string {
  return `${folder.replace(/\/+$/, '')}/${OWN}${token}`;
}

/** Where the stage is once the script that gives the copy its name has begun. */
export function placingOf(stage: string): string {
  return `${stage}-placing`;
}

/**
 * Renames the stage, so that its removal and its placing never work on the same files: what is removed after an
 * interruption is a copy that is not being placed. `fail` prints `ACS-FAILED <reason> <path>` after it has removed it.
 */
function claim(stage: string): string {
  return `
s=${shellQuote(placingOf(stage))}
fail() {
  [ -f "$s/errors" ] && cat "$s/errors" >&2
  rm -rf -- "$s"
  printf 'ACS-FAILED %s ' "$1"
  p=$2
  ${PRINT_PATH}
  exit 46
}
mv -T -- ${shellQuote(stage)} "$s" 2>/dev/null || fail incomplete "$t"
`;
}

export const FAILED = /^ACS-FAILED (incomplete|folder|not-folder|write) ([A-Za-z0-9+/=]*)$/m;

interface Placing {
  stage: string;
  target: string;
  /** Of what was uploaded. */
  bytes: number;
}

/**
 * Gives an uploaded file its mode and its name. A file that it replaces leaves its mode to it.
 * @param mode permission bits of a new file, less those of the umask; null: those that it was uploaded with
 */
export function placeFileScript({ stage, target, bytes }: Placing, mode: number | null): string {
  return `
t=${shellQuote(target)}
${claim(stage)}
[ "$(($(wc -c <"$s")))" = ${bytes} ] || fail incomplete "$t"
[ -d "$t" ] && fail folder "$t"
if [ -f "$t" ]; then
  m=$(stat -c %a -- "$t" 2>/dev/null) && chmod "$m" "$s"
  chmod ${((mode ?? 0) & 0o100) === 0 ? 'a-x' : '+x'} "$s"
else
  chmod ${mode === null ? 'a-x' : `"$(printf %o "$((0${mode.toString(8)} & ~0$(umask)))")"`} "$s"
fi
mv -fT -- "$s" "$t" || fail write "$t"
`;
}

/** Prints the first path of the new tree whose kind differs from what is there: nothing is written through a link. */
const CLASHES = `
p=$1
shift
for f; do
  if [ -d "$f" ] && [ ! -L "$f" ]; then
    if [ -L "$p/$f" ] || { [ -e "$p/$f" ] && [ ! -d "$p/$f" ]; }; then printf %s "$p/\${f#./}"; exit 1; fi
  elif [ -d "$p/$f" ] && [ ! -L "$p/$f" ]; then
    printf %s "$p/\${f#./}"
    exit 2
  fi
done
`;

/** Unpacks an uploaded archive beside the target and renames it, or merges it into the folder that is there. */
export function placeFolderScript({ stage, target, bytes }: Placing): string {
  return `
t=${shellQuote(target)}
${claim(stage)}
command -v tar >/dev/null 2>&1 || { rm -rf -- "$s"; exit 44; }
[ "$(($(wc -c <"$s/archive")))" = ${bytes} ] || fail incomplete "$t"
mkdir -- "$s/new" 2>"$s/errors" && tar -xof "$s/archive" -C "$s/new" 2>"$s/errors" || fail write "$t"
rm -f -- "$s/archive"
if [ ! -e "$t" ] && [ ! -L "$t" ]; then
  mv -T -- "$s/new" "$t" 2>"$s/errors" || fail write "$t"
else
  [ -d "$t" ] || fail not-folder "$t"
  (cd -- "$s/new" && find . -exec sh -c ${shellQuote(CLASHES)} sh "$t" {} + >"$s/clash")
  if [ -s "$s/clash" ]; then
    c=$(cat "$s/clash")
    if [ -d "$c" ] && [ ! -L "$c" ]; then fail folder "$c"; else fail not-folder "$c"; fi
  fi
  cp -RPlf "$s/new/." "$t/" 2>/dev/null || cp -RPpf "$s/new/." "$t/" 2>"$s/errors" || fail write "$t"
fi
rm -rf -- "$s"
`;
}

export function removeScript(stage: string): string {
  return `rm -rf -- ${shellQuote(stage)}`;
}
