/** The style of the page. Colours have a contrast of at least 4.5 to 1 in both schemes. */
export const STYLE = `
:root{color-scheme:light dark;--back:#fff;--front:#1c2024;--quiet:#5b636d;--line:#d5d9de;--block:#f4f6f8;--link:#0b57b0;
--good:#17692f;--bad:#b3261e;--warn:#7a4d00;--added:#e3f5e7;--removed:#fde8e6}
@media(prefers-color-scheme:dark){:root{--back:#14171a;--front:#e4e7ea;--quiet:#a3abb4;--line:#343a41;--block:#1e2327;
--link:#86b7ff;--good:#7ed492;--bad:#ff9d94;--warn:#e8b866;--added:#173322;--removed:#43201e}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:62rem;padding:1.5rem 1rem 4rem;background:var(--back);color:var(--front);
font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 .75rem}
h2{font-size:1.15rem;margin:2rem 0 .75rem;padding-bottom:.25rem;border-bottom:1px solid var(--line)}
a{color:var(--link)}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-99rem}
.skip:focus{position:static}
nav{display:flex;flex-wrap:wrap;gap:1rem;margin-top:1rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;margin:0}
dt,time,.quiet{color:var(--quiet)}
dd{margin:0}
.good{color:var(--good)}.bad{color:var(--bad)}.warn{color:var(--warn)}
pre{margin:.25rem 0 0;padding:.6rem .75rem;background:var(--block);border:1px solid var(--line);border-radius:.3rem;
font:.85rem/1.45 ui-monospace,monospace;white-space:pre-wrap;tab-size:4}
.plain{background:none;border:0;padding:0;font:inherit}
ol{list-style:none;margin:0;padding:0}
li{display:grid;grid-template-columns:3.5rem minmax(0,1fr);gap:0 .75rem;padding:.4rem 0}
time{font-variant-numeric:tabular-nums;font-size:.85rem;padding-top:.1rem}
.who{font-weight:600}
li.user>div{border-left:3px solid var(--link);padding-left:.6rem}
li.error>div{border-left:3px solid var(--bad);padding-left:.6rem}
summary{cursor:pointer}
.path{font-family:ui-monospace,monospace;font-size:.9rem}
.diff span{display:block;min-height:1.45em}
.diff .a{background:var(--added)}.diff .r{background:var(--removed)}.diff .h{color:var(--quiet)}
.files>details{margin:.4rem 0}
ul{padding-left:1.25rem}
ul li{display:list-item;padding:0}
html{scroll-padding-bottom:5rem}
footer{margin-top:3rem;color:var(--quiet);font-size:.85rem}
#live{position:sticky;bottom:0;display:flex;flex-wrap:wrap;gap:.25rem 1rem;padding:.5rem 0;background:var(--back);
border-top:1px solid var(--line)}
@media(max-width:36rem){body{padding:1rem .75rem 3rem}li{display:block}dl{column-gap:.6rem}}
`;
