import Foundation
import Glibc
import TestSupport

extension StackProcess {
    /// Kills the process without warning after it has worked for `delay`.
    func kill(after delay: Duration) {
        Thread.sleep(forTimeInterval: Double(delay.components.attoseconds) / 1e18)
        send(SIGKILL)
    }
}
