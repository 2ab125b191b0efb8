/**
 * Reads the imports of each source and its uses of globals of the process. The rules are in
 * rules.ts.
 */
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

/** Paths as in `src/base/errors.ts`, with the text of each file. */
export type Tree = ReadonlyMap<string, string>;

export interface Import {
  /** Path of the file that imports. */
  from: string;
  /** Path of a file of ours, or the name of a package or of a part of Node (`node:fs`). */
  to: string;
  origin: 'ours' | 'library' | 'node';
  /** `static` is loaded with the file, `dynamic` on use, `type` never. */
  loading: 'static' | 'dynamic' | 'type';
}

export interface GlobalUse {
  from: string;
  name: string;
  line: number;
}

export interface Sources {
  lineCounts: ReadonlyMap<string, number>;
  imports: Import[];
  globalUses: GlobalUse[];
}

/** All TypeScript files below a folder. */
export function readTree(root: string, folder: string): Tree {
  const files = readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(?:ts|json)$/.test(file))
    .map((file) => `${folder}/${file.split(path.sep).join('/')}`)
    .sort();
  return new Map(files.map((file) => [file, readFileSync(path.join(root, file), 'utf8')]));
}

export function readSources(tree: Tree): Sources {
  const sources: Sources = { lineCounts: new Map(), imports: [], globalUses: [] };
  const lineCounts = new Map<string, number>();
  for (const [file, text] of tree) {
    const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
    lineCounts.set(file, text.split('\n').length - 1);
    const visit = (node: ts.Node): void => {
      const found = importOf(node);
      if (found)
        sources.imports.push({
          from: file,
          ...resolved(file, found.specifier),
          loading: found.loading,
        });
      const name = globalUseOf(node);
      if (name) sources.globalUses.push({ from: file, name, line: lineOf(source, node) });
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return { ...sources, lineCounts };
}

function importOf(node: ts.Node): { specifier: string; loading: Import['loading'] } | null {
  if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
    return {
      specifier: node.moduleSpecifier.text,
      loading: node.importClause?.isTypeOnly ? 'type' : 'static',
    };
  }
  if (
    ts.isExportDeclaration(node) &&
    node.moduleSpecifier &&
    ts.isStringLiteral(node.moduleSpecifier)
  ) {
    return { specifier: node.moduleSpecifier.text, loading: node.isTypeOnly ? 'type' : 'static' };
  }
  if (
    ts.isImportTypeNode(node) &&
    ts.isLiteralTypeNode(node.argument) &&
    ts.isStringLiteral(node.argument.literal)
  ) {
    return { specifier: node.argument.literal.text, loading: 'type' };
  }
  if (ts.isCallExpression(node) && isLoading(node.expression)) {
    const [argument] = node.arguments;
    const specifier = argument && ts.isStringLiteralLike(argument) ? argument.text : '(computed)';
    return { specifier, loading: 'dynamic' };
  }
  return null;
}

function isLoading(callee: ts.Expression): boolean {
  return (
    callee.kind === ts.SyntaxKind.ImportKeyword ||
    (ts.isIdentifier(callee) && callee.text === 'require')
  );
}

function resolved(from: string, specifier: string): Pick<Import, 'to' | 'origin'> {
  if (specifier.startsWith('.')) {
    return {
      to: path.posix.normalize(path.posix.join(path.posix.dirname(from), specifier)),
      origin: 'ours',
    };
  }
  if (specifier.startsWith('node:')) return { to: specifier, origin: 'node' };
  const name = specifier.split('/').slice(0, specifier.startsWith('@') ? 2 : 1);
  return { to: name.join('/'), origin: 'library' };
}

/**
 * The outside world a file reaches for by name: `process`, `console`, `fetch`, or the wall clock.
 */
function globalUseOf(node: ts.Node): string | null {
  if (ts.isNewExpression(node) && isNamed(node.expression, 'Date') && !node.arguments?.length)
    return 'new Date()';
  if (
    ts.isPropertyAccessExpression(node) &&
    isNamed(node.expression, 'Date') &&
    node.name.text === 'now'
  ) {
    return 'Date.now';
  }
  if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
    const part = /^node:(process|console)$/.exec(node.moduleSpecifier.text)?.[1];
    return part && !node.importClause?.isTypeOnly ? part : null;
  }
  if (!ts.isIdentifier(node) || !['process', 'console', 'fetch'].includes(node.text)) return null;
  return isExpression(node) ? node.text : null;
}

function isNamed(node: ts.Expression, name: string): boolean {
  return ts.isIdentifier(node) && node.text === name;
}

/**
 * Whether the identifier is read as a value of the surroundings; not a member, a name being
 * declared, or a type.
 */
function isExpression(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent) && parent.name === node)
    return isGlobalThis(parent.expression);
  if (ts.isPropertyAssignment(parent)) return parent.initializer === node;
  if (ts.isShorthandPropertyAssignment(parent)) return !isDeclaredIn(node);
  if (
    ts.isTypeNode(parent) ||
    ts.isQualifiedName(parent) ||
    ts.isTypeElement(parent) ||
    ts.isClassElement(parent)
  ) {
    return ts.isPropertyDeclaration(parent) && parent.initializer === node;
  }
  if (ts.isImportSpecifier(parent) || ts.isExportSpecifier(parent) || ts.isImportClause(parent))
    return false;
  if (ts.isBindingElement(parent) || ts.isParameter(parent) || ts.isVariableDeclaration(parent)) {
    return parent.initializer === node && !isDeclaredIn(node);
  }
  if (ts.isFunctionDeclaration(parent) || ts.isFunctionExpression(parent)) return false;
  return !isDeclaredIn(node);
}

function isGlobalThis(node: ts.Expression): boolean {
  return isNamed(node, 'globalThis');
}

/**
 * Whether the file gives the name a meaning of its own: a parameter, a variable, a function, an
 * import.
 */
function isDeclaredIn(node: ts.Identifier): boolean {
  const source = node.getSourceFile();
  const isDeclaration = (each: ts.Node): boolean => {
    const names =
      ts.isParameter(each) ||
      ts.isVariableDeclaration(each) ||
      ts.isBindingElement(each) ||
      ts.isFunctionDeclaration(each) ||
      ts.isImportSpecifier(each);
    return (
      names && each.name !== undefined && ts.isIdentifier(each.name) && each.name.text === node.text
    );
  };
  const isFoundIn = (each: ts.Node): boolean =>
    isDeclaration(each) ||
    (ts.forEachChild(each, (child) => isFoundIn(child) || undefined) ?? false);
  return isFoundIn(source);
}

function lineOf(source: ts.SourceFile, node: ts.Node): number {
  return source.getLineAndCharacterOfPosition(node.getStart()).line + 1;
}
