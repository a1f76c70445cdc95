// androidx.javascriptengine with node as its engine: code goes out as a line of JSON, the result comes back as one.
package androidx.javascriptengine

import android.content.Context
import java.util.concurrent.CompletableFuture
import java.util.concurrent.Future
import org.json.JSONObject

private const val NODE = """
const lines = require("node:readline").createInterface({ input: process.stdin });
lines.on("line", async (line) => {
  try { console.log(JSON.stringify({ result: String(await (0, eval)(JSON.parse(line))) })); }
  catch (error) { console.log(JSON.stringify({ error: String(error) })); }
});
"""

class JavaScriptSandbox {
    fun isFeatureSupported(feature: String) = feature == JS_FEATURE_PROMISE_RETURN

    fun createIsolate() = JavaScriptIsolate()

    companion object {
        const val JS_FEATURE_PROMISE_RETURN = "JS_FEATURE_PROMISE_RETURN"

        fun createConnectedInstanceAsync(context: Context): Future<JavaScriptSandbox> {
            check(context.filesDir.isDirectory)
            return CompletableFuture.completedFuture(JavaScriptSandbox())
        }
    }
}

class JavaScriptIsolate : AutoCloseable {
    private val node = ProcessBuilder("node", "-e", NODE).redirectError(ProcessBuilder.Redirect.INHERIT).start()
    private val output = node.outputStream.writer()
    private val input = node.inputStream.bufferedReader()

    fun evaluateJavaScriptAsync(code: String): Future<String> {
        output.write(JSONObject.quote(code) + "\n")
        output.flush()
        val answer = JSONObject(input.readLine())
        return when {
            answer.has("error") -> CompletableFuture.failedFuture(IllegalStateException(answer.getString("error")))
            else -> CompletableFuture.completedFuture(answer.getString("result"))
        }
    }

    override fun close() = node.destroy()
}
