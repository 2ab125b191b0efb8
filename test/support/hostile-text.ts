/** Texts of which each would run, load something or end its place, if it were markup. */
export const HOSTILE = [
  '<script>globalThis.ran = 1</script>',
  '</pre></style></title></textarea><script>globalThis.ran = 2</script>',
  '<img src=x onerror="globalThis.ran = 3">',
  '"><svg onload=globalThis.ran=4>',
  ']]><!-- --!> <style>*{display:none}</style>',
  '<link rel=stylesheet href=http://127.0.0.1:9/x.css><iframe src=http://127.0.0.1:9/></iframe>',
  '<meta http-equiv=refresh content="0;url=http://127.0.0.1:9/">',
  'bidi \u202e and control \u0000\u0007\u001b[2J and a lone surrogate \ud800',
  '../../x',
];
