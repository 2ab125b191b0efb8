/** Uncommitted changes and unpushed commits of a checkout, brought into a clone at a server. */
import { createReadStream } from 'node:fs';
import { AppError } from '../../base/errors.ts';
import { shellQuote } from '../../base/text/shell-quote.ts';
import { shortened } from '../../base/text/well-formed.ts';
import type { CheckoutChanges } from '../../domain/new-conversation.ts';
import type { Transport } from '../http/transport.ts';
import type { Links } from '../shared/links.ts';
import { AgentFiles } from './files.ts';
import { runCommand } from './shell-command.ts';

/** The commit that a run begins with; in a worktree a ref of its own. */
export const BASE_REF = 'refs/worktree/acs-base';

/**
 * @param enter shell that defines `git` (GIT_IN_SHELL) and goes to the folder of the clone
 * @throws before the branch and the files are changed, unless git could not write them
 */
export async function carryChanges(
  links: Links,
  agent: Pick<Transport, 'request'>,
  enter: string,
  changes: CheckoutChanges,
): Promise<void> {
  const run = async (script: string): Promise<string> => {
    const command = `${enter}\n${script}`;
    const options = { command, cwd: '.', timeoutSeconds: 600, safe: 'once' } as const;
    const { exitCode, stdout, stderr } = await runCommand(links, agent, options);
    if (exitCode === 0) return stdout;
    const reason = shortened(stderr.trim().split('\n').at(-1) ?? '', 500);
    throw new AppError('server', `git in the workspace failed (${exitCode}): ${reason}`);
  };
  const roots = await changes.roots();
  const answer = await run(readScript([changes.commit, ...roots]));
  const read = (word: string) =>
    [...answer.matchAll(new RegExp(`^ACS-${word} (.+)$`, 'gm'))].map(([, value = '']) => value);
  const [folder = ''] = read('DIR');
  const has = read('HAS');
  let file = '';
  if (!has.includes(changes.commit)) {
    const pack = await changes.pack({ has, head: read('HEAD')[0], shallow: read('SHALLOW') });
    file = `${folder}/acs-changes`;
    const files = new AgentFiles(links, agent, () => Promise.resolve(null));
    const parts = () => createReadStream(pack.path) as AsyncIterable<Uint8Array>;
    const content = { kind: 'file', mode: null, bytes: pack.bytes, parts } as const;
    await files.upload({ path: file, kind: 'none' }, content).finally(() => pack.remove());
  }
  await run(
    applyScript(
      changes,
      file,
      roots.filter((root) => !has.includes(root)),
    ),
  );
}

/** What a server itself has in a workspace without a repository is no part of it. */
function readScript(commits: readonly string[]): string {
  return `[ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ] || git init -q . || exit
dir=$(git rev-parse --absolute-git-dir) head=$(git rev-parse -q --verify HEAD)
[ -n "$head" ] || { mkdir -p "$dir/info" && ls -A | sed 's|^|/|' >>"$dir/info/exclude"; } || exit
echo "ACS-DIR $dir"
echo "ACS-HEAD $head"
sed 's/^/ACS-SHALLOW /' "$(git rev-parse --git-path shallow)" 2>/dev/null
for commit in ${commits.join(' ')}; do
  ! git cat-file -e "$commit^{commit}" 2>/dev/null || echo "ACS-HAS $commit"
done`;
}

/** A root comes without its parents, as that of a shallow clone. */
function applyScript(
  { commit, head, branch }: CheckoutChanges,
  file: string,
  roots: readonly string[],
): string {
  return `commit=${commit} head=${head ?? ''} branch=${shellQuote(branch ?? '')}
file=${shellQuote(file)}
if [ -n "$file" ]; then
  git index-pack --stdin <"$file" >/dev/null || exit
  rm -f -- "$file"
fi
for root in ${roots.join(' ')}; do
  ! git cat-file -e "$root^{commit}" 2>/dev/null ||
    echo "$root" >>"$(git rev-parse --git-path shallow)"
done
own_config
git update-ref ${BASE_REF} $commit && git read-tree --reset -u $commit || exit
if [ -n "$branch" ]; then
  git symbolic-ref HEAD "refs/heads/$branch" || exit
  [ -z "$head" ] || git update-ref HEAD $head || exit
else
  git update-ref --no-deref HEAD $head || exit
fi
if [ -n "$head" ]; then git reset -q; else git read-tree --empty; fi`;
}
