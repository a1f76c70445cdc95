// The example of expo-sensors' documentation with one import changed: it was from "expo-sensors".
import { Accelerometer } from "deeprotect/expo";
import { useEffect, useState } from "react";
import { Text, TouchableOpacity, View } from "react-native";

export default function App() {
  const [{ x, y, z }, setData] = useState({ x: 0, y: 0, z: 0 });
  const [subscription, setSubscription] = useState<{ remove(): void } | null>(null);

  const subscribe = () => setSubscription(Accelerometer.addListener(setData));
  const unsubscribe = () => {
    subscription?.remove();
    setSubscription(null);
  };
  const slow = () => Accelerometer.setUpdateInterval(1000);
  const fast = () => Accelerometer.setUpdateInterval(16);

  useEffect(() => {
    subscribe();
    return () => unsubscribe();
  }, []);

  return (
    <View>
      <Text>Accelerometer, as it was released (in g, where 1 g = 9.81 m/s²)</Text>
      <Text>x: {x.toFixed(3)}</Text>
      <Text>y: {y.toFixed(3)}</Text>
      <Text>z: {z.toFixed(3)}</Text>
      <TouchableOpacity onPress={subscription ? unsubscribe : subscribe}>
        <Text>{subscription ? "On" : "Off"}</Text>
      </TouchableOpacity>
      <TouchableOpacity onPress={slow}>
        <Text>Slow</Text>
      </TouchableOpacity>
      <TouchableOpacity onPress={fast}>
        <Text>Fast</Text>
      </TouchableOpacity>
    </View>
  );
}
