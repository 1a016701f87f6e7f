// Measures a model with ONNX Runtime: node ort.mjs MODEL THREADS
// Requests and answers are lines of JSON. {"inputs": [...]} loads inputs from raw
// files and runs once; {"runs": n, "concurrency": c, "warmup": w} measures.
import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { join } from 'node:path'

const say = (v) => process.stdout.write(JSON.stringify(v) + '\n')

const find = () => {
  const places = [process.cwd(), ...(process.env.NODE_PATH ?? '').split(':').filter(Boolean).map((p) => join(p, '..'))]
  for (const place of places) {
    try {
      const require = createRequire(join(place, 'x.js'))
      const version = JSON.parse(readFileSync(join(require.resolve('onnxruntime-node'), '..', '..', 'package.json'))).version
      return [require('onnxruntime-node'), version]
    } catch { /* not here */ }
  }
  return []
}

const arrays = {
  float32: Float32Array, float64: Float64Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array,
  int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array, bool: Uint8Array, float16: Uint16Array,
}

const [ort, version] = find()
if (!ort) {
  say({ error: 'node does not find the package onnxruntime-node in the current directory or NODE_PATH' })
  process.exit(1)
}
const [model, threads] = process.argv.slice(2)
let session
try {
  session = await ort.InferenceSession.create(model, { intraOpNumThreads: Number(threads), interOpNumThreads: 1, graphOptimizationLevel: 'all' })
  say({ version })
} catch (e) {
  say({ error: String(e.message ?? e) })
  process.exit(1)
}

let feeds = {}
const measure = async (n, concurrency) => {
  const times = []
  let next = 0
  const began = performance.now()
  await Promise.all(Array.from({ length: Math.min(n, concurrency) }, async () => {
    while (next++ < n) {
      const start = performance.now()
      await session.run(feeds)
      times.push(performance.now() - start)
    }
  }))
  return { times_ms: times, wall_ms: performance.now() - began }
}

for await (const line of createInterface({ input: process.stdin })) {
  try {
    const ask = JSON.parse(line)
    if (ask.inputs) {
      feeds = {}
      for (const i of ask.inputs) {
        const b = readFileSync(i.file)
        if (!arrays[i.type]) throw new Error('elements of type ' + i.type + ' are not passed on')
        const data = new arrays[i.type](b.buffer.slice(b.byteOffset, b.byteOffset + b.byteLength))
        feeds[i.name] = new ort.Tensor(i.type, data, i.dims)
      }
      const start = performance.now()
      await session.run(feeds)
      say({ first_ms: performance.now() - start })
    } else {
      await measure(ask.warmup, ask.concurrency)
      say(await measure(ask.runs, ask.concurrency))
    }
  } catch (e) {
    say({ error: String(e.message ?? e) })
  }
}
