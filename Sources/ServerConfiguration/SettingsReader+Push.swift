extension SettingsReader {
    /// The push services; each is set up as a whole or not at all.
    mutating func push() -> ServerConfiguration.Push {
        ServerConfiguration.Push(sns: sns(), apns: apns(), fcm: fcm())
    }

    private mutating func sns() -> ServerConfiguration.SNS? {
        guard reader.has(prefix: "awssns") else { return nil }
        let sns = ServerConfiguration.SNS(
            accessKeyID: reader.required("awssns.accessKeyId"),
            secretKey: secret("awssns.secretKey") ?? missing("awssns.secretKeyFile"),
            region: reader.required("awssns.region"),
            platformApplicationARN: reader.required("awssns.platformApplicationArn"))
        guard !sns.region.isEmpty, !sns.platformApplicationARN.isEmpty else { return sns }
        if !sns.region.utf8.allSatisfy({
            ($0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A) || (0x30...0x39).contains($0) || $0 == 0x2D
        }) {
            reader.problem("awssns.region must be a region's name, such as us-west-2", at: "awssns.region")
        }
        // arn:aws:sns:REGION:ACCOUNT:app/APNS/NAME
        let parts = sns.platformApplicationARN.split(separator: ":", omittingEmptySubsequences: false)
        if parts.count != 6 || parts[0] != "arn" || parts[2] != "sns" || !parts[5].hasPrefix("app/") {
            reader.problem(
                "awssns.platformApplicationArn must be the ARN of a platform application, such as "
                    + "arn:aws:sns:us-west-2:123456789012:app/APNS/MyApp", at: "awssns.platformApplicationArn")
        } else if parts[3] != sns.region {
            reader.problem(
                "awssns.platformApplicationArn is of the region \(parts[3]), and awssns.region is another",
                at: "awssns.platformApplicationArn")
        }
        return sns
    }

    private mutating func apns() -> ServerConfiguration.APNs? {
        guard reader.has(prefix: "apns") else { return nil }
        let environment = reader.string("apns.environment") ?? "production"
        if !["production", "sandbox"].contains(environment) {
            reader.problem("apns.environment must be production or sandbox", at: "apns.environment")
        }
        return ServerConfiguration.APNs(
            teamID: reader.required("apns.teamId"), keyID: reader.required("apns.keyId"),
            privateKey: secret("apns.privateKey") ?? missing("apns.privateKeyFile"),
            topic: reader.required("apns.topic"), isSandbox: environment == "sandbox")
    }

    private mutating func fcm() -> ServerConfiguration.FCM? {
        guard reader.has(prefix: "fcm") else { return nil }
        return ServerConfiguration.FCM(
            serviceAccount: secret("fcm.serviceAccount") ?? missing("fcm.serviceAccountFile"))
    }
}
