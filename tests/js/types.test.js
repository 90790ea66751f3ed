// The package's types: they compile for programs of every usual setting, say what may be written, and name what the
// module's lists name.
import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { instance, root } from './helpers.js';

const fixtures = fileURLToPath(new URL('fixtures/', import.meta.url));
const consumer = join(fixtures, 'consumer.ts');

// Each file is read and parsed once for all programs, TypeScript's own libraries above all; those are not checked.
const parsed = new Map();
function compile(files, options) {
  const all = { strict: true, noEmit: true, skipLibCheck: false, skipDefaultLibCheck: true, types: [], ...options };
  const host = ts.createCompilerHost(all);
  const read = host.getSourceFile;
  host.getSourceFile = (file, how, ...rest) => {
    const key = `${file} ${JSON.stringify(how)}`;
    if (!parsed.has(key)) parsed.set(key, read.call(host, file, how, ...rest));
    return parsed.get(key);
  };
  const program = ts.createProgram(files, all, host);
  const messages = ts.getPreEmitDiagnostics(program).map((diagnostic) => {
    const text = ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n');
    if (!diagnostic.file) return text;
    const { line } = diagnostic.file.getLineAndCharacterOfPosition(diagnostic.start);
    return `${diagnostic.file.fileName.slice(dirname(root).length)}:${line + 1}: ${text}`;
  });
  return { program, messages };
}

const es = ['lib.es2022.d.ts'];
const dom = ['lib.es2023.d.ts', 'lib.dom.d.ts'];
const settings = {
  'bundler, DOM': { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler, lib: dom },
  'nodenext, no DOM': { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext, lib: es },
  'node16, @types/node': {
    module: ts.ModuleKind.Node16,
    moduleResolution: ts.ModuleResolutionKind.Node16,
    lib: es,
    types: ['node'],
  },
  exactOptionalPropertyTypes: {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    lib: dom,
    exactOptionalPropertyTypes: true,
  },
};
for (const [name, options] of Object.entries(settings)) {
  test(`a program compiles: ${name}`, () => {
    const { program, messages } = compile([consumer], { target: ts.ScriptTarget.ES2022, ...options });
    assert.deepEqual(messages, []);
    assert.ok(
      program.getSourceFiles().some((file) => file.fileName.endsWith('dist/lib/index.d.ts')),
      'the package was found',
    );
  });
}

test('the unions name what the lists of the module name, in their order', async () => {
  const an = await instance('simd');
  const options = { target: ts.ScriptTarget.ES2022, ...settings['nodenext, no DOM'] };
  const file = join(root, 'dist/lib/types.d.ts');
  const { program } = compile([file], options);
  const checker = program.getTypeChecker();
  const members = new Map(
    checker
      .getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file)))
      .map((symbol) => [symbol.name, symbol.declarations[0]]),
  );
  /** The string literals of a union as they are written. */
  const union = (name) => {
    const { type } = members.get(name);
    return (type.types ?? [type]).map((member) => member.literal.text);
  };
  const names = (list) => list.map(String);
  const keys = (name) => checker.getPropertiesOfType(checker.getTypeAtLocation(members.get(name))).map((p) => p.name);
  const optionsOf = (name) => an.fields.find((field) => field.name === name).options;

  assert.deepEqual(union('ActivationName'), names(an.activations));
  assert.deepEqual(union('NormName'), names(an.norms));
  assert.deepEqual(union('PlacementName'), names(an.placements));
  assert.deepEqual(union('AffineName'), optionsOf('affine'));
  assert.deepEqual(union('InitName'), optionsOf('init'));
  assert.deepEqual(union('ActivationAlias').sort(), an.activations.flatMap((a) => a.aliases).sort());
  assert.deepEqual(
    an.norms.flatMap((n) => n.aliases),
    [],
  );
  assert.deepEqual(union('Variant').sort(), Object.keys(an.capabilities).sort());
  const parameters = new Set(an.activations.flatMap((a) => a.params.map((p) => p.name)));
  assert.deepEqual(keys('ActivationParams').sort(), [...parameters].sort());
  assert.deepEqual(union('MixingName'), optionsOf('mixing'));
  const fieldsBut = (leaveOut) => names(an.fields.filter((field) => !leaveOut(field))).sort();
  assert.deepEqual(
    keys('BlockConfig').sort(),
    fieldsBut(({ group }) => group === 'stack'),
  );
  assert.deepEqual(
    keys('StackConfig').sort(),
    fieldsBut(({ name }) => name === 'layer'),
  );
  const ffn = an.ffn({ d_model: 2, d_ff: 2 });
  assert.deepEqual(keys('FfnConfig').sort(), Object.keys(ffn.config).sort());
  const { gluAliases } = await import('../../dist/lib/ops.js');
  assert.deepEqual(union('GluAlias'), Object.keys(gluAliases));
  ffn.dispose();
});
