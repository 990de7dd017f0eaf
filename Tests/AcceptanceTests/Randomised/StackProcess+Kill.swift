import Foundation
import Glibc
import TestSupport

extension StackProcess {
    /// Ends the process without any warning, after a while during which it is at work.
    func kill(after delay: Duration) {
        Thread.sleep(forTimeInterval: Double(delay.components.attoseconds) / 1e18)
        send(SIGKILL)
    }
}
