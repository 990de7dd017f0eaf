import Posix
import Push
import ServerConfiguration
import SyncProtocol

extension PushServices {
    /// The push services that the configuration names.
    init(_ configuration: ServerConfiguration.Push) {
        let now: @Sendable () -> Int64 = { WallClock.secondsSince1970() }
        self.init()
        if let settings = configuration.apns {
            apns = APNs(
                teamID: settings.teamID, keyID: settings.keyID, key: settings.key, topic: settings.topic,
                environment: settings.isSandbox ? .sandbox : .production, now: now)
        }
        if let settings = configuration.fcm { fcm = FCM(account: settings.account, now: now) }
        if let settings = configuration.sns {
            sns = SNS(
                accessKeyID: settings.accessKeyID, secretKey: settings.secretKey.value, region: settings.region,
                platformApplicationARN: settings.platformApplicationARN, now: now)
        }
    }
}
