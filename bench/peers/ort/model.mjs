// Measures a model with ONNX Runtime: node model.mjs MODEL THREADS
// Requests and answers are lines of JSON. {"inputs": [...]} loads inputs from raw
// files and runs once; {"runs": n, "concurrency": c, "warmup": w} measures.
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { arrays, find } from './find.mjs'

const say = (v) => process.stdout.write(JSON.stringify(v) + '\n')

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
