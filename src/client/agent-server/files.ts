/** Files over interface 7.5. Scripts need POSIX sh with GNU or BusyBox programs. */
import type { PathInfo, SandboxContent, SandboxFiles } from '../../domain/sandbox-files.ts';
import { AppError, type ErrorKind, isNotFound } from '../../base/errors.ts';
import { shellQuote } from '../../base/text/shell-quote.ts';
import { shortened } from '../../base/text/well-formed.ts';
import { isMissingRoute, errorBy } from '../http/answer.ts';
import type { BodyStream } from '../http/call.ts';
import { LIMITS_MS } from '../http/time-limits.ts';
import type { Transport } from '../http/transport.ts';
import type { Links } from '../shared/links.ts';
import { runCommand } from './shell-command.ts';

const KINDS: Record<number, ErrorKind> = { 106: 'conflict', 110: 'network', 112: 'unsupported' };

const FAIL = 'fail() { printf "%s\\n" "$2" >&2; exit "$1"; }';
const NEEDS_TAR =
  'command -v tar >/dev/null || fail 112 "files of this sandbox cannot be copied: it lacks tar"';

export class AgentFiles implements SandboxFiles {
  readonly #links: Links;
  readonly #agent: Pick<Transport, 'request'>;
  readonly #workingDir: () => Promise<string | null>;
  temporary: string | null = null;

  constructor(
    links: Links,
    agent: Pick<Transport, 'request'>,
    workingDir: () => Promise<string | null>,
  ) {
    this.#links = links;
    this.#agent = agent;
    this.#workingDir = workingDir;
  }

  async stat(path: string): Promise<PathInfo> {
    const folder = path.startsWith('/') ? null : await this.#workingDir();
    const stdout = await this.#run(statScript(path, folder), 'read');
    const [, kind, access = '', mode = '0', bytes, encoded = ''] = STAT.exec(stdout) ?? [];
    if (kind === undefined)
      throw new AppError('server', `the sandbox did not report what ${path} is`);
    return {
      // In base64: a name may have any byte.
      path: Buffer.from(encoded, 'base64').toString('utf8'),
      kind: kind as PathInfo['kind'],
      bytes: kind === 'file' ? Number(bytes) : 0,
      mode: parseInt(mode, 8) & 0o777,
      isReadable: access.includes('r'),
      isWritable: access.includes('w'),
      hasFolder: access.includes('d'),
    };
  }

  async download(from: PathInfo, into: (part: Uint8Array) => Promise<void>): Promise<void> {
    if (from.kind === 'file') return await this.#download(from.path, from.bytes, into);
    this.temporary = `/tmp/acs-cp-${this.#links.randomId()}`;
    const bytes = Number(await this.#run(packScript(from.path, this.temporary), 'once'));
    await this.#download(`${this.temporary}/archive`, bytes, into);
  }

  async upload(
    { path, kind: there }: Pick<PathInfo, 'path' | 'kind'>,
    { kind, mode, bytes, parts }: SandboxContent,
  ): Promise<void> {
    const folder =
      kind === 'folder' && there === 'folder' ? path : path.slice(0, path.lastIndexOf('/'));
    const stage = `${folder.replace(/\/+$/, '')}/.acs-cp-${this.#links.randomId()}`;
    const route = await this.#fileRoute('upload', kind === 'file' ? stage : `${stage}/archive`);
    let sent = 0;
    const counted = async function* (): AsyncGenerator<Uint8Array, void, void> {
      sent = 0;
      for await (const part of parts()) {
        sent += part.length;
        yield part;
      }
    };
    this.temporary = stage;
    await this.#agent.request({
      method: 'POST',
      ...route,
      body: `(${bytes ?? 'unknown'} bytes)`,
      stream: { upload: fileForm(bytes, counted, `acs-${this.#links.randomId()}`) },
      safe: 'idempotent',
      timeoutMs: LIMITS_MS.fileWrite,
    });
    await this.#run(
      kind === 'file' ? fileScript(stage, path, sent, mode) : folderScript(stage, path, sent),
      'once',
    );
    this.temporary = null;
  }

  async remove(temporary: string): Promise<void> {
    await this.#run(`rm -rf -- ${shellQuote(temporary)}`, 'idempotent');
  }

  async #run(script: string, safe: 'read' | 'idempotent' | 'once'): Promise<string> {
    const command = {
      command: `${FAIL}\n${script}`,
      cwd: null,
      timeoutSeconds: safe === 'once' ? 1800 : 60,
      safe,
    };
    const { exitCode, stdout, stderr } = await runCommand(this.#links, this.#agent, command).catch(
      (error: unknown) => {
        if (!isNotFound(error)) throw error;
        throw new AppError(
          'unsupported',
          'files of this sandbox cannot be copied: it runs no commands',
          {
            cause: error,
          },
        );
      },
    );
    if (exitCode === 0) return stdout;
    const message =
      shortened(stderr.trim().split('\n').at(-1) ?? '', 500) ||
      `a command for the copy exited with ${exitCode}`;
    throw new AppError(KINDS[exitCode] ?? 'server', message, { retryable: exitCode === 110 });
  }

  /** @param bytes when it was read: a file may grow meanwhile, and those of /proc have none then */
  async #download(
    path: string,
    bytes: number,
    into: (part: Uint8Array) => Promise<void>,
  ): Promise<void> {
    let received = 0;
    const { headers } = await this.#agent.request({
      method: 'GET',
      ...(await this.#fileRoute('download', path)),
      safe: 'idempotent',
      expect: 'bytes',
      stream: {
        into: async (part) => {
          received += part.length;
          await into(part);
        },
      },
    });
    // content-length counts the encoded bytes.
    const length =
      headers['content-encoding'] === undefined ? headers['content-length'] : undefined;
    if (length === undefined ? received >= bytes : received === Number(length)) return;
    throw new AppError(
      'network',
      `the answer has ${received} of ${length ?? bytes} bytes of ${path}`,
      {
        retryable: true,
      },
    );
  }

  /** An older server redirects from the query form to an empty path, which is 400. */
  async #fileRoute(
    name: 'download' | 'upload',
    path: string,
  ): Promise<{ path: string; query?: { path: string } }> {
    const call = {
      accept: [400, 404, 405, 422, 500],
      mayBeMissing: true,
    } as const;
    const missing = `/acs-${this.#links.randomId()}`; // 404 where the query is read
    const byQuery = await this.#agent.request({
      ...call,
      path: '/api/file/download',
      query: { path: missing },
    });
    if (!isMissingRoute(byQuery) && byQuery.status !== 400) {
      return { path: `/api/file/${name}`, query: { path } };
    }
    const byPath = await this.#agent.request({ ...call, path: '/api/file/download//' });
    if (isMissingRoute(byPath))
      throw errorBy(byPath, 'unsupported', 'the agent server of this sandbox copies no files');
    // Its route matches no line feed, and the answer is then that of a missing route.
    if (path.includes('\n'))
      throw new AppError('unsupported', 'this sandbox has no route for a path with a line feed');
    return { path: `/api/file/${name}/${path.split('/').map(encodeURIComponent).join('/')}` };
  }
}

function fileForm(
  bytes: number | null,
  content: () => AsyncIterable<Uint8Array>,
  boundary: string,
): NonNullable<BodyStream['upload']> {
  const before = Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; ` +
      `filename="file"\r\nContent-Type: application/octet-stream\r\n\r\n`,
  );
  const after = Buffer.from(`\r\n--${boundary}--\r\n`);
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    bytes: bytes === null ? null : before.length + bytes + after.length,
    async *parts() {
      yield before;
      yield* content();
      yield after;
    },
  };
}

function statScript(path: string, workingDir: string | null): string {
  return `
command -v base64 >/dev/null || fail 112 'files of this sandbox cannot be copied: it lacks base64'
${workingDir === null ? '' : `cd -- ${shellQuote(workingDir)} 2>/dev/null`}
p=${shellQuote(path.replace(/\/+$/, '') || '/')}
case $p in /*) ;; *) p=$(pwd)/$p ;; esac
r=$(readlink -f -- "$p") && p=$r
d=$(dirname -- "$p")
k=none w=$d
if [ -d "$p" ]; then k=folder w=$p
elif [ -f "$p" ]; then k=file
elif [ -e "$p" ]; then k=other; fi
a=-
[ -r "$p" ] && a=\${a}r
[ -w "$w" ] && a=\${a}w
[ -d "$d" ] && a=\${a}d
printf 'ACS-STAT %s %s %s ' "$k" "$a" "$(stat -c '%a %s' -- "$p" 2>/dev/null || echo 644 0)"
printf %s "$p" | base64 | tr -d '\\n'
`;
}

const STAT = /^ACS-STAT (file|folder|other|none) (-r?w?d?) ([0-7]+) (\d+) ([A-Za-z0-9+/=]+)$/m;

function packScript(folder: string, temporary: string): string {
  return `
${NEEDS_TAR}
umask 077
mkdir -- ${temporary} && cd -- ${temporary} || exit
LC_ALL=C tar -cf archive -C ${shellQuote(folder)} . 2>errors || {
  e=$(grep -v 'as we read it' errors | head -n 1)
  [ -z "$e" ] || fail 106 "$e"
}
wc -c <archive
`;
}

/** Renames the stage: `remove` after an interruption never removes files that are being placed. */
function placing(stage: string, target: string, file: string, bytes: number): string {
  return `
t=${shellQuote(target)}
s=${shellQuote(`${stage}-placing`)}
trap 'rm -rf -- "$s"' EXIT
mv -T -- ${shellQuote(stage)} "$s" 2>/dev/null && [ "$(($(wc -c <"$s${file}")))" = ${bytes} ] ||
  fail 110 "not all bytes of $t arrived"
`;
}

/** The mode of a file that is replaced stays; the new one is executable if the source is. */
function fileScript(stage: string, target: string, bytes: number, mode: number | null): string {
  const isProgram = ((mode ?? 0) & 0o100) !== 0;
  return `${placing(stage, target, '', bytes)}
[ -d "$t" ] && fail 106 "$t is a folder; a file does not replace it"
${mode === null ? '' : `chmod ${mode.toString(8)} "$s"`}
if [ -f "$t" ]; then chmod "$(stat -c %a -- "$t")" "$s"${isProgram ? '; chmod +x "$s"' : ''}; fi
mv -fT -- "$s" "$t" || exit 106
`;
}

/** Exits where the kind of a file differs: nothing is written through a link. */
const COMPARE = `
t=$1
shift
is_folder() { [ -d "$1" ] && [ ! -L "$1" ]; }
for f; do
  there=$t/\${f#./}
  if is_folder "$f"; then
    is_folder "$there" || { [ ! -e "$there" ] && [ ! -L "$there" ]; } && continue
    echo "$there is not a folder; a folder does not replace it" >&2
  else
    is_folder "$there" || continue
    echo "$there is a folder; a file does not replace it" >&2
  fi
  exit 1
done
`;

function folderScript(stage: string, target: string, bytes: number): string {
  return `${placing(stage, target, '/archive', bytes)}
${NEEDS_TAR}
mkdir -- "$s/new" && tar -xof "$s/archive" -C "$s/new" && rm -- "$s/archive" || exit 106
if [ ! -e "$t" ]; then
  mv -T -- "$s/new" "$t" || exit 106
else
  (cd -- "$s/new" && find . ! -name . -exec sh -c ${shellQuote(COMPARE)} sh "$t" {} +) || exit 106
  cp -RPlf "$s/new/." "$t/" 2>/dev/null || cp -RPpf "$s/new/." "$t/" || exit 106
fi
`;
}
