// An app: opens the protector twice, as after a restart, and pushes windows; prints what is released and charged.
import android.content.Context
import java.io.File
import kotlin.coroutines.Continuation
import kotlin.coroutines.EmptyCoroutineContext
import kotlin.coroutines.startCoroutine
import kotlin.system.exitProcess

fun main(arguments: Array<String>) {
    val app = suspend { run(Context(File(arguments[0]), File(arguments[1]))) }
    app.startCoroutine(Continuation(EmptyCoroutineContext) { it.getOrThrow() })
    exitProcess(0)
}

private suspend fun run(context: Context) {
    val charges = File(context.filesDir, "deeprotect.charges")
    val window = FloatArray(12) { it / 10f }
    var slot = 100L
    repeat(2) {
        val protector = Protector.open(context)
        for (value in listOf(1f, Float.NaN, Float.POSITIVE_INFINITY, 2f)) {
            val released = protector.push(slot++, window.copyOf().also { it[5] = value })
            println("$value ${released?.joinToString(" ")} | ${if (charges.exists()) charges.readText() else "nothing"}")
        }
        val refused = runCatching { protector.push(slot++, FloatArray(11)) }
        println(refused.exceptionOrNull()?.message)
    }
}
