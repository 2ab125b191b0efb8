/**
 * Configuration that would change content or output, at the defaults of git. The user keeps what
 * transport needs, the author, core.excludesFile and merge.conflictStyle.
 */
const DEFAULTS = `
  apply.ignoreWhitespace=no apply.whitespace=nowarn
  clone.defaultRemoteName=origin clone.rejectShallow=false
  color.advice=false color.diff=false color.remote=false color.status=false color.ui=false
  column.ui=never
  commit.gpgSign=false tag.gpgSign=false log.showSignature=false
  core.abbrev=auto core.attributesFile=/dev/null core.autocrlf=false core.bigFileThreshold=512m
  core.eol=lf
  core.fsmonitor=false core.hooksPath=/dev/null core.logAllRefUpdates=true core.pager=cat
  core.quotePath=true
  core.safecrlf=false core.splitIndex=false
  diff.algorithm=default diff.autoRefreshIndex=true diff.colorMoved=no diff.context=3
  diff.dstPrefix=b/
  diff.ignoreSubmodules=none diff.indentHeuristic=true diff.interHunkContext=0
  diff.mnemonicPrefix=false diff.noPrefix=false
  diff.orderFile=/dev/null diff.relative=false diff.renameLimit=1000 diff.renames=true
  diff.srcPrefix=a/
  diff.submodule=short diff.suppressBlankEmpty=false diff.wsErrorHighlight=none
  i18n.commitEncoding=UTF-8 i18n.logOutputEncoding=UTF-8
  init.defaultObjectFormat=sha1 init.defaultRefFormat=files init.templateDir=
  merge.default=text merge.renormalize=false rerere.enabled=false
  protocol.ext.allow=never
  status.aheadBehind=true status.branch=false status.renames=true status.showStash=false
  status.showUntrackedFiles=normal status.submoduleSummary=false submodule.recurse=false
`
  .trim()
  .split(/\s+/);

export const GIT_DEFAULTS = DEFAULTS.flatMap((setting) => ['-c', setting]);

/**
 * Shell functions. `git`: with the defaults. `own_config` blanks the filters of the repository and
 * its submodules; CRLF counts as LF where git checked out with core.autocrlf. `own_files` adds to
 * another index than that of the repository the ignored files that the repository tracks, and what
 * a sparse checkout leaves out. `base`: a commit; `t`: a folder.
 */
export const GIT_IN_SHELL = `
unset GIT_DIFF_OPTS GIT_EXTERNAL_DIFF
export GIT_ATTR_NOSYSTEM=1
crlf=false
git() { command git ${DEFAULTS.map((setting) => `-c ${setting}`).join(' ')} \\
  -c core.excludesFile=/dev/null -c core.autocrlf=$crlf "$@"; }
own_config() {
  case $(command git config core.autocrlf) in true | input) crlf=input ;; esac
  count=\${GIT_CONFIG_COUNT:-0}
  set -f
  IFS='
'
  for name in $({
    git config --list --name-only
    git ls-files -s -z | tr '\\0' '\\n' | sed -n 's/^160000 [^\t]*\t//p' |
      while IFS= read -r sub; do
        [ -e "./$sub/.git" ] || continue
        (unset GIT_DIR GIT_WORK_TREE; git -C "./$sub" config --list --name-only)
      done
  } | grep '^filter[.].*[.]' | sort -u); do
    case $name in *.required) value=false ;; *) value= ;; esac
    export "GIT_CONFIG_KEY_$count=$name" "GIT_CONFIG_VALUE_$count=$value"
    count=$((count + 1))
  done
  unset IFS
  set +f
  export GIT_CONFIG_COUNT=$count
}
own() {
  (unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
  git --git-dir=.git --work-tree=. "$@" 2>/dev/null)
}
own_files() {
  own cat-file -e "$base^{commit}" || return 0
  git ls-files -c -i --exclude-standard -z | git update-index -z --force-remove --stdin
  own ls-files -c -i --exclude-standard -z | git update-index -z --add --remove --stdin
  own ls-files -t -z | tr '\\0\\n' '\\n\\0' | sed -n 's/^S //p' | while IFS= read -r file; do
    [ -e "./$file" ] || [ -L "./$file" ] || printf '%s\\n' "$file"
  done | tr '\\0\\n' '\\n\\0' >"$t/sparse"
  [ ! -s "$t/sparse" ] || git --literal-pathspecs reset -q "$base" \\
    --pathspec-from-file="$t/sparse" --pathspec-file-nul
}`;

/** Keys are last parts of git keys; else empty. An empty driver takes one side; this merges. */
const WITHOUT: Readonly<Record<string, string>> = {
  required: 'false',
  driver: 'git merge-file -L ours -L base -L theirs --marker-size=%L %A %O %B',
};

/** An environment without filters and drivers. `names`: from `git config --list --name-only`. */
export function withoutPrograms<E extends NodeJS.ProcessEnv>(names: string, env: E) {
  const keys = new Set(
    names.match(/^(?:filter|merge)\..+\.(?:clean|smudge|process|required|driver)$/gm),
  );
  const blanked: Record<string, string> = {};
  let count = Number(env.GIT_CONFIG_COUNT ?? 0);
  for (const key of keys) {
    blanked[`GIT_CONFIG_KEY_${count}`] = key;
    blanked[`GIT_CONFIG_VALUE_${count++}`] = WITHOUT[key.replace(/.*\./, '')] ?? '';
  }
  return { ...env, ...blanked, GIT_CONFIG_COUNT: String(count) };
}
