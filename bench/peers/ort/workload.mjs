// ONNX Runtime as a peer: the workload comes as a model. See bench/README.md for
// the protocol; a request also has "model", a file, and "inputs", the names,
// dtypes and extents of its inputs, "below" for those that are indices.
import { createInterface } from 'node:readline'
import { arrays, find } from './find.mjs'

const say = (v) => process.stdout.write(JSON.stringify(v) + '\n')

const [ort, version] = find(process.argv[2])
if (!ort) {
  say({ skip: 'node does not find the package onnxruntime-node in the current directory or NODE_PATH' })
  process.exit(0)
}
say({ peer: 'onnxruntime', version })

const values = ({ type, dims, below }) => {
  if (!arrays[type]) throw new Error('elements of type ' + type + ' are not passed on')
  const data = new arrays[type](dims.reduce((a, b) => a * b, 1))
  const big = data instanceof BigInt64Array || data instanceof BigUint64Array
  let s = 1
  for (let i = 0; i < data.length; i++) {
    s = (Math.imul(s, 1664525) + 1013904223) | 0
    const v = below ? (s >>> 1) % below : type.startsWith('float') ? s / 2 ** 31 : s >> 24
    data[i] = big ? BigInt(v) : v
  }
  return new ort.Tensor(type, data, dims)
}

let prepared = ''
let session, feeds
const prepare = async (ask) => {
  const key = JSON.stringify([ask.model, ask.threads])
  if (key === prepared) return
  prepared = ''
  const old = session
  session = undefined // whatever fails now, it is not released twice
  await old?.release()
  session = await ort.InferenceSession.create(ask.model, { intraOpNumThreads: ask.threads, interOpNumThreads: 1, graphOptimizationLevel: 'all' })
  feeds = Object.fromEntries(ask.inputs.map((i) => [i.name, values(i)]))
  prepared = key
}

const clocks = {
  cpu: () => { const c = process.cpuUsage(); return (c.user + c.system) / 1e3 },
  wall: () => performance.now(),
}

const measure = async (ms, clock) => {
  const start = clock()
  let n = 0
  let took = 0
  do {
    await session.run(feeds)
    n++
    took = clock() - start
  } while (took < ms)
  return took * 1e6 / n
}

for await (const line of createInterface({ input: process.stdin })) {
  try {
    const ask = JSON.parse(line)
    if (!ask.model) {
      say({ skip: 'no model was made of ' + ask.workload })
      continue
    }
    await prepare(ask)
    for (let i = 0; i < ask.warmup; i++) await session.run(feeds)
    const ns = []
    for (let i = 0; i < ask.rounds; i++) ns.push(await measure(ask.ms, clocks[ask.clock ?? 'wall']))
    say({ ns })
  } catch (e) {
    prepared = ''
    say({ skip: String(e.message ?? e) })
  }
}
