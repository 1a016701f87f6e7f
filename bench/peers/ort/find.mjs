// Finds the npm package onnxruntime-node: in the current directory or NODE_PATH.
import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

// find returns the package and its version, or nothing.
export const find = (folder) => {
  const places = [...(folder ? [join(folder, '..')] : []), process.cwd(), ...(process.env.NODE_PATH ?? '').split(':').filter(Boolean).map((p) => join(p, '..'))]
  for (const place of places) {
    try {
      const require = createRequire(join(place, 'x.js'))
      const version = JSON.parse(readFileSync(join(require.resolve('onnxruntime-node'), '..', '..', 'package.json'))).version
      return [require('onnxruntime-node'), version]
    } catch { /* not here */ }
  }
  return []
}

// arrays has the elements of tensors by dtype.
export const arrays = {
  float32: Float32Array, float64: Float64Array, int8: Int8Array, uint8: Uint8Array, int16: Int16Array, uint16: Uint16Array,
  int32: Int32Array, uint32: Uint32Array, int64: BigInt64Array, uint64: BigUint64Array, bool: Uint8Array, float16: Uint16Array,
}
