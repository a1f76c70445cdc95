// What docs/native.md uses of Android, as far as it uses it.
package android.content

import java.io.File
import java.io.InputStream

class Context(val filesDir: File, private val folder: File) {
    val assets = AssetManager()

    inner class AssetManager {
        fun open(name: String): InputStream = File(folder, name).inputStream()
    }
}
