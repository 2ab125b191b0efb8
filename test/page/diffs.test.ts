import { expect, it } from 'vitest';
import { diffOfPatch } from '../../src/page/diffs.ts';

it('a patch that is too long for the page is cut, which the page states', () => {
  const patch = `diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1,1 @@\n+${'x'.repeat(5_000_000)}\n`;
  const diff = diffOfPatch(patch, [{ path: 'a', status: 'added' }]);
  expect(diff.patch.byteLength).toBe(4_000_000);
  expect(diff.omissions).toEqual(['the diff is too long for this page; acs conv diff prints all of it']);
  expect(diffOfPatch(patch.slice(0, 100), []).omissions).toEqual([]);
});
